import { truncateSync } from "node:fs";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import { because } from "../../../test/skip-reasons/skip-reasons.ts";
import { useServer, type AccountClient } from "../../../test/support/given.ts";
import { gatedProgram, queuedCommands } from "../../../test/support/queued-commands.ts";
import { mountSmallDisk } from "../../../test/support/small-disk.ts";
import { stubDriver } from "../../../test/support/stub-driver.ts";
import { commandFiles } from "../execution/command-files.ts";

const PATIENCE = { timeout: 45_000 };
const MIB = 1024 * 1024;
/** Skipped where the test may not mount a disk. */
const disk = mountSmallDisk(24);
afterAll(() => disk.unmount());

describe.skipIf(!disk.isMounted)("a full disk", because("a small disk can only be mounted by root"), () => {
  const given = useServer({
    driver: stubDriver,
    dataDir: disk.dataDir,
    settings: {
      DATABASE_URL: "postgres://shared",
      HEADGATE_LEASE_SECONDS: "10",
      HEADGATE_COMMANDS_PER_CLUSTER: "4",
      // A quota may end the program before the disk is full.
      HEADGATE_ACCOUNT_DISK: "0",
      HEADGATE_RUN_DISK: "0",
    },
  });
  const { submit, letGo, cancelAll } = queuedCommands(given);
  const { fill, clear, freeBytes } = disk;
  afterEach(async () => {
    clear();
    await cancelAll();
  });

  const ended = (account: AccountClient, id: number) => account.get(`/commands/${id}?wait_seconds=45`);
  const logOf = async (account: AccountClient, id: number) => (await account.get(`/commands/${id}/logs`).reply()).text;
  const attemptsOf = async (account: AccountClient, id: number) =>
    (await account.get(`/commands/${id}/attempts`)).attempts;

  async function started(account: AccountClient, program: string, more: Record<string, unknown> = {}): Promise<number> {
    const id = await submit(account, program, more);
    await expect.poll(() => account.get(`/commands/${id}`), PATIENCE).toMatchObject({ pid: expect.any(Number) });
    return id;
  }

  test("fails the program that prints more than fits, with that cause and nothing else", async () => {
    const account = await given.account();
    const quiet = await started(account, gatedProgram("echo fine"));
    const id = await submit(account, "trap '' PIPE; echo first >&2; head -c 100000000 /dev/zero; exec sleep 600");
    expect(await ended(account, id)).toMatchObject({ status: "error", num_result_dir: 0 });
    const cause = "the disk is full: output cannot be written: no space left on the disk";
    expect(await attemptsOf(account, id)).toMatchObject([{ number: 1, cause }]);
    expect(await logOf(account, id)).toMatch(new RegExp(`^first\\n(.*\\n)*headgate: ${cause}\\n$`));
    expect(await account.get(`/commands/${id}/results`)).toEqual({ inline: true, results: "" });
    // Its space is free again: no one has to delete files before other commands can go on.
    expect(freeBytes()).toBeGreaterThan(20 * MIB);
    await letGo(account, quiet);
    expect(await ended(account, quiet)).toMatchObject({ status: "done" });
    const next = await submit(account, "head -c 1000000 /dev/zero");
    expect(await ended(account, next)).toMatchObject({ status: "done" });
  });

  test("is reported by the log although nothing could be written to it, and does not affect commands that write nothing", async () => {
    const account = await given.account();
    const quiet = await started(account, gatedProgram());
    const loud = await started(account, gatedProgram("echo out; echo err >&2"));
    fill();
    const [{ at }] = (await heartbeats()) as [{ at: number }];
    await letGo(account, loud);
    expect(await ended(account, loud)).toMatchObject({ status: "error" });
    const cause = "the disk is full: (output|log) cannot be written: no space left on the disk";
    expect(await attemptsOf(account, loud)).toMatchObject([{ cause: expect.stringMatching(new RegExp(`^${cause}$`)) }]);
    expect(await logOf(account, loud)).toMatch(new RegExp(`headgate: ${cause}\n$`));
    // The removal of its files may have freed enough space for that line; otherwise the reader of the log adds it.
    truncateSync(commandFiles(given.dataDir, account.accountId, loud).log(1));
    expect(await logOf(account, loud)).toMatch(new RegExp(`^headgate: ${cause}\n$`));
    expect((await account.get(`/commands/${loud}/error_logs`)).error_log).toMatch(new RegExp(`^headgate: ${cause}\n$`));
    // The lease of the node is still renewed: otherwise the quiet command would have ended by now.
    await expect.poll(async () => ((await heartbeats()) as [{ at: number }])[0].at, PATIENCE).toBeGreaterThan(at + 11);
    await letGo(account, quiet);
    expect(await ended(account, quiet)).toMatchObject({ status: "done" });
    clear();
    const next = await submit(account, "echo out; echo err >&2");
    expect(await ended(account, next)).toMatchObject({ status: "done" });
    expect(await logOf(account, next)).toBe("err\n");
  });

  const heartbeats = () =>
    given.app.services.db.system.query<{ at: number }>(
      "select extract(epoch from heartbeat_at)::float8 as at from node",
    );

  test("is named as the cause when a program fails without a message, and the files of the program are removed first", async () => {
    const account = await given.account();
    const id = await submit(account, "head -c 100000000 /dev/zero > big 2>/dev/null || exit 3");
    expect(await ended(account, id)).toMatchObject({ status: "error" });
    expect(await attemptsOf(account, id)).toMatchObject([{ exit_code: 3, cause: "exit code 3: the disk was full" }]);
    expect(await logOf(account, id)).toBe("headgate: exit code 3: the disk was full\n");
    expect(freeBytes()).toBeGreaterThan(20 * MIB);
  });

  test("counts as a failure for retry, and the next attempt has the space of the last one", async () => {
    const account = await given.account();
    const id = await submit(account, '[ "$ATTEMPT" = 2 ] || head -c 100000000 /dev/zero; head -c 2000000 /dev/zero', {
      retry: 1,
      retry_delay: 0,
    });
    expect(await ended(account, id)).toMatchObject({ status: "done" });
    expect(await attemptsOf(account, id)).toMatchObject([
      { cause: expect.stringMatching(/^the disk is full/) },
      { exit_code: 0, cause: null },
    ]);
  });

  test("is the cause of a command that cannot be started", async () => {
    const account = await given.account();
    await submit(account, "true").then((id) => ended(account, id));
    fill();
    const id = await submit(account, "echo never", { retry: 1, retry_delay: 0 });
    expect(await ended(account, id)).toMatchObject({ status: "error" });
    const cause = "the disk is full: it could not be started";
    expect(await attemptsOf(account, id)).toMatchObject([{ cause }, { cause }]);
    expect(await logOf(account, id)).toContain(`headgate: ${cause}`);
    clear();
    expect(await logOf(account, id)).toContain(`headgate: ${cause}`);
    const next = await submit(account, "true");
    expect(await ended(account, next)).toMatchObject({ status: "done" });
  });
});

const guarded = mountSmallDisk(16);
afterAll(() => guarded.unmount());

describe.skipIf(!guarded.isMounted)(
  "a disk that is nearly full",
  because("a small disk can only be mounted by root"),
  () => {
    const given = useServer({
      driver: stubDriver,
      dataDir: guarded.dataDir,
      settings: { HEADGATE_LOW_DISK: "20", HEADGATE_LEASE_SECONDS: "5" },
    });
    const { submit, letGo } = queuedCommands(given);
    const { fill, clear } = guarded;

    test("lets running commands end, keeps waiting commands waiting, and refuses new ones until there is room again", async () => {
      const account = await given.account();
      const running = await submit(account, gatedProgram("echo out"));
      await expect.poll(() => account.get(`/commands/${running}`), PATIENCE).toMatchObject({ pid: expect.any(Number) });
      await setNodeState("paused");
      const waiting = await submit(account, "echo out");
      fill(2 * MIB);
      await expect.poll(async () => (await fetch(`${given.base}/readyz`)).status, PATIENCE).toBe(503);
      const again = { command_type: "SparkCommand", language: "python", program: "true" };
      await account.post("/commands", again).refused(503, /^The disk is nearly full/);
      await setNodeState("active");
      await expect
        .poll(() => account.get(`/commands/${waiting}`), PATIENCE)
        .toMatchObject({ status: "waiting", waiting_reason: "the disk of the node is nearly full" });
      await letGo(account, running);
      expect(await account.get(`/commands/${running}?wait_seconds=45`)).toMatchObject({ status: "done" });
      expect(await account.get(`/commands/${waiting}`)).toMatchObject({ status: "waiting", start_time: null });
      clear();
      expect(await account.get(`/commands/${waiting}?wait_seconds=45`)).toMatchObject({ status: "done" });
      await expect.poll(async () => (await fetch(`${given.base}/readyz`)).status, PATIENCE).toBe(200);
      const { id } = await account.post("/commands", again);
      expect(await account.get(`/commands/${id}?wait_seconds=45`)).toMatchObject({ status: "done" });
    });

    const setNodeState = (state: string) => given.app.services.db.system.query("update node set state = $1", [state]);
  },
);
