import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { useServer, type AccountClient } from "../../../test/support/given.ts";
import { submitProgram } from "../../../test/support/programs.ts";
import { gatedProgram, queuedCommands } from "../../../test/support/queued-commands.ts";
import { REFUSAL, REFUSED_PROGRAM, stubDriver } from "../../../test/support/stub-driver.ts";
import { withoutId } from "../../../test/support/without-id.ts";
import { listProcesses } from "../../lib/process-table.ts";
import { commandFiles } from "../execution/command-files.ts";

const given = useServer({ driver: stubDriver, settings: { HEADGATE_TIMEOUT_CHECK_SECONDS: "1" } });

const PATIENCE = { timeout: 45_000 };
const { letGo } = queuedCommands(given);

// oxlint-disable-next-line typescript/no-explicit-any -- JSON: each test asserts what it reads
function whenEnded(account: AccountClient, id: number): Promise<any> {
  return expect
    .poll(() => account.get(`/commands/${id}`), PATIENCE)
    .toMatchObject({ status: expect.stringMatching(/^(done|error|cancelled)$/) })
    .then(() => account.get(`/commands/${id}`));
}

const filesOf = (account: AccountClient, id: number, attempt = 1) =>
  commandFiles(given.dataDir, account.accountId, id).attempt(attempt);
const outputOf = (account: AccountClient, id: number, attempt = 1): string =>
  readFileSync(filesOf(account, id, attempt).output, "utf8");
const logOf = (account: AccountClient, id: number, attempt = 1): string =>
  readFileSync(filesOf(account, id, attempt).log, "utf8");

async function attemptsOf(id: number) {
  return given.app.services.db.system.query<{ number: number; exit_code: number | null; cause: string | null }>(
    "select number, exit_code, cause from command_attempt where command_id = $1 order by number",
    [id],
  );
}

/** By the marker in their command line. */
async function processesNamed(marker: string): Promise<number> {
  return (await listProcesses()).filter(({ commandLine }) => commandLine.includes(marker)).length;
}

describe("a program", () => {
  test("runs once, with its own output, log and end", async () => {
    const account = await given.account();
    const id = await submitProgram(account, "echo out; echo err >&2");
    const ended = await whenEnded(account, id);
    expect(ended).toMatchObject({ status: "done", progress: 100, pid: null, num_result_dir: 1 });
    expect(ended.start_time).not.toBeNull();
    expect(ended.end_time).not.toBeNull();
    expect(outputOf(account, id)).toBe("out\n");
    expect(logOf(account, id)).toBe("err\n");
    expect(await attemptsOf(id)).toEqual([{ number: 1, exit_code: 0, cause: null }]);
  });

  test("that fails is an error with its exit code as the cause", async () => {
    const account = await given.account();
    const id = await submitProgram(account, "echo before; exit 7");
    expect(await whenEnded(account, id)).toMatchObject({ status: "error", num_result_dir: 0 });
    expect(logOf(account, id)).toContain("exit code 7");
    expect(await attemptsOf(id)).toEqual([{ number: 1, exit_code: 7, cause: "exit code 7" }]);
  });

  test("shows its pid while it runs", async () => {
    const account = await given.account();
    const id = await submitProgram(account, gatedProgram());
    await expect
      .poll(() => account.get(`/commands/${id}`), PATIENCE)
      .toMatchObject({ status: "running", pid: expect.any(Number) });
    await letGo(account, id);
    expect(await whenEnded(account, id)).toMatchObject({ status: "done", pid: null });
  });

  test("is retried as often as retry says, each time as a new attempt", async () => {
    const account = await given.account();
    const id = await submitProgram(account, 'echo "attempt $ATTEMPT"; [ "$ATTEMPT" = 3 ]', {
      retry: 2,
      retry_delay: 0,
    });
    expect(await whenEnded(account, id)).toMatchObject({ status: "done" });
    expect((await attemptsOf(id)).map(({ exit_code }) => exit_code)).toEqual([1, 1, 0]);
    expect(outputOf(account, id, 3)).toBe("attempt 3\n");
  });

  test("between two attempts stays running without a pid, and a cancel then ends it at once", async () => {
    const account = await given.account();
    const id = await submitProgram(account, "exit 1", { retry: 1, retry_delay: 5 });
    await expect.poll(() => attemptsOf(id), PATIENCE).toMatchObject([{ exit_code: 1 }]);
    expect(await account.get(`/commands/${id}`)).toMatchObject({ status: "running", pid: null, end_time: null });
    expect(await account.put(`/commands/${id}`)).toMatchObject({ status: "cancelled", kill_succeeded: true });
  });

  test("ends as error at the first check after its timeout, even with retry", async () => {
    const account = await given.account();
    const id = await submitProgram(account, "sleep 60", { timeout: 1, retry: 3 });
    expect(await whenEnded(account, id)).toMatchObject({ status: "error" });
    expect(logOf(account, id)).toMatch(/timed out: the timeout is 1 s/);
    expect(await attemptsOf(id)).toHaveLength(1);
  });

  test("that is refused before it starts ends as an error that says why, even with retry", async () => {
    const account = await given.account();
    const id = await submitProgram(account, REFUSED_PROGRAM, { retry: 1 });
    expect(await whenEnded(account, id)).toMatchObject({ status: "error", start_time: null });
    expect(logOf(account, id)).toContain(REFUSAL);
    expect(await attemptsOf(id)).toHaveLength(1);
  });

  test("does not see the server's environment", async () => {
    const account = await given.account();
    const id = await submitProgram(account, "env");
    await whenEnded(account, id);
    const names = outputOf(account, id)
      .trim()
      .split("\n")
      .map((line) => line.split("=")[0] ?? "");
    // The variables of a shell, and the mark by which a runner finds its processes when there is no sandbox.
    const others = ["PWD", "SHLVL", "_", "OLDPWD", "HEADGATE_RUNNER"];
    expect(names.filter((name) => !others.includes(name)).toSorted()).toEqual([
      "ATTEMPT",
      "COMMAND",
      "JOURNAL",
      "PATH",
    ]);
  });
});

describe("PUT /api/v1.2/commands/<id>", () => {
  test("ends a running command with all its processes", async () => {
    const account = await given.account();
    const marker = `7${Date.now() % 1_000_000}.5`;
    const id = await submitProgram(account, `sleep ${marker} & sleep ${marker}; echo never`);
    await expect.poll(() => processesNamed(`sleep ${marker}`), PATIENCE).toBe(2);
    const reply = await account.put(`/commands/${id}`, { status: "kill" });
    expect(reply).toMatchObject({ id, status: "cancelling", kill_succeeded: true, result: expect.any(String) });
    expect(await whenEnded(account, id)).toMatchObject({ status: "cancelled" });
    expect(await processesNamed(`sleep ${marker}`)).toBe(0);
    expect(outputOf(account, id)).toBe("");
  });

  test("does not change a finished command, and says so", async () => {
    const account = await given.account();
    const id = await submitProgram(account, "true");
    const ended = await whenEnded(account, id);
    const reply = await account.put(`/commands/${id}`, { status: "kill" });
    expect(reply).toEqual({ ...ended, kill_succeeded: false, result: expect.stringContaining("done") });
  });

  test("refuses any other status", async () => {
    const account = await given.account();
    const id = await submitProgram(account, "true");
    await account.put(`/commands/${id}`, { status: "pause" }).refused(422, /^status must be/);
  });

  test("a command of another account is 404 like an unknown one", async () => {
    const [mine, theirs] = [await given.account(), await given.account()];
    const id = await submitProgram(theirs, "true");
    const foreign = await mine.put(`/commands/${id}`).refused(404);
    const unknown = await mine.put("/commands/999999999").refused(404);
    expect(withoutId(foreign, id)).toBe(withoutId(unknown, "999999999"));
  });
});
