import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { isExhaustive } from "../../../test/support/exhaustive.ts";
import { useServer, type AccountClient } from "../../../test/support/given.ts";
import { copyEnd, printReport, submitCopy, withStubCopies } from "../../../test/support/stub-copy.ts";
import { waitForCommandEnd } from "../../../test/support/wait-for-command-end.ts";
import type { ReportLine } from "../../engines/s3-copy/report.ts";
import { listProcesses } from "../../lib/process-table.ts";
import { commandFiles } from "../execution/command-files.ts";

/** Most of these tests wait for processes, so they run concurrently. */
const given = useServer({
  commandKinds: withStubCopies,
  isIsolated: false,
  settings: { HEADGATE_TIMEOUT_CHECK_SECONDS: "1" },
});
const eventually = (check: () => unknown): Promise<unknown> => vi.waitFor(check, { timeout: 45_000 });

const copied = (name: string, bytes: number): ReportLine => ({
  copied: [`s3://in/${name}`, `file:/out/${name}`, bytes],
});
const progress = (percent: number, files: number, totalFiles: number): ReportLine => ({
  progress: { percent, files, totalFiles, bytes: files * 10 },
});
const filesOf = (account: AccountClient, id: number) => commandFiles(given.dataDir, account.accountId, id);
const journalOf = (account: AccountClient, id: number): string => join(filesOf(account, id).folder, "copy");
const openCopies = (): string[] => readdirSync(join(given.dataDir, "open-copies"));

async function logOf(account: AccountClient, id: number): Promise<string> {
  return (await account.get(`/commands/${id}/logs`).reply()).text;
}

/** The number of ended attempts. */
async function attemptsOf(id: number): Promise<number> {
  const ended = "select from command_attempt where command_id = $1 and ended_at is not null";
  return (await given.app.services.db.system.query(ended, [id])).length;
}

test.concurrent("the result of a copy is a table with a row for each source, in every format", async () => {
  const account = await given.account();
  const id = await submitCopy(
    account,
    printReport(copied("a", 1), copied("b\té", 20), progress(100, 2, 2), copyEnd({ files: 2, bytes: 21 })),
  );
  expect(await waitForCommandEnd(account, id)).toMatchObject({ status: "done", progress: 100, num_result_dir: 1 });
  const results = (query: string) => account.get(`/commands/${id}/results${query}`).reply();
  expect(JSON.parse((await results("?include_headers=true")).text)).toEqual({
    inline: true,
    results: "source\tdestination\tbytes\r\ns3://in/a\tfile:/out/a\t1\r\ns3://in/b\té\tfile:/out/b\té\t20\r\n",
  });
  expect(JSON.parse((await results("?format=json")).text)).toEqual([
    { source: "s3://in/a", destination: "file:/out/a", bytes: 1 },
    { source: "s3://in/b\té", destination: "file:/out/b\té", bytes: 20 },
  ]);
  expect((await results("?format=csv&include_headers=true")).text).toContain("s3://in/a,file:/out/a,1");
  expect((await results("?format=arrow")).status).toBe(200);
  expect(await account.get(`/commands/${id}/jobs`)).toMatchObject([
    { job_id: 0, job_stats: { status: "succeeded", num_tasks: 2, num_completed_tasks: 2, num_stages: 1 } },
  ]);
});

test.concurrent("a large result is stored completely, and only the end of the report is retained", async () => {
  const account = await given.account();
  const id = await submitCopy(
    account,
    `seq 25000 | sed 's/.*/{"copied":["s3:\\/\\/in\\/&","file:\\/out\\/&",&]}/'; ${printReport(progress(100, 25_000, 25_000), copyEnd({ files: 25_000 }))}`,
  );
  expect(await waitForCommandEnd(account, id)).toMatchObject({ status: "done" });
  const { text } = await account.get(`/commands/${id}/results?format=json`).reply();
  const rows = JSON.parse(text) as { bytes: number }[];
  expect(rows.map(({ bytes }) => bytes)).toEqual(Array.from({ length: 25_000 }, (_, index) => index + 1));
  const { report } = filesOf(account, id).attempt(1);
  await eventually(() => expect(readFileSync(report, "utf8").split("\n").length).toBe(3));
});

test.concurrent("while a copy runs, its progress and tasks are shown, and its log has no line of the report", async () => {
  const account = await given.account();
  const id = await submitCopy(
    account,
    `${printReport(copied("a", 1), progress(40, 4, 10))}; echo noted >&2; exec sleep 60`,
  );
  await eventually(async () =>
    expect(await account.get(`/commands/${id}`)).toMatchObject({ status: "running", progress: 40 }),
  );
  expect(await account.get(`/commands/${id}/jobs`)).toMatchObject([
    { job_stats: { status: "running", num_tasks: 10, num_completed_tasks: 4, ended_at: null } },
  ]);
  expect(await logOf(account, id)).toBe("noted\n");
  await account.put(`/commands/${id}`);
  expect(await waitForCommandEnd(account, id)).toMatchObject({ status: "cancelled" });
});

test.concurrent("a failed copy ends with the cause that its process reported, and is tried again", async () => {
  const account = await given.account();
  const script = `${printReport(copyEnd({ failure: "s3://in/a: access denied" }))}; exit 1`;
  const id = await submitCopy(account, script, { retry: 1, retry_delay: 0 });
  expect(await waitForCommandEnd(account, id)).toMatchObject({ status: "error" });
  expect(await logOf(account, id)).toMatch(
    /^headgate: s3:\/\/in\/a: access denied; the next attempt .*\nheadgate: s3:\/\/in\/a: access denied\n$/,
  );
  expect(await attemptsOf(id)).toBe(2);
});

test.concurrent("a copy with wrong arguments is not tried again", async () => {
  const account = await given.account();
  const failure = "Argument --stub doesn't match.";
  const script = `${printReport(copyEnd({ failure, isRefused: true }))}; exit 1`;
  const id = await submitCopy(account, script, { retry: 3, retry_delay: 0 });
  expect(await waitForCommandEnd(account, id)).toMatchObject({ status: "error" });
  expect(await logOf(account, id)).toContain(failure);
  expect(await attemptsOf(id)).toBe(1);
});

test.concurrent.each([
  ["exit code 3", "exit 3"],
  ["its process ended without a report", "exit 0"],
])("a copy whose process reports nothing ends as error: %s", async (cause, script) => {
  const account = await given.account();
  const id = await submitCopy(account, script);
  expect(await waitForCommandEnd(account, id)).toMatchObject({ status: "error" });
  expect(await logOf(account, id)).toContain(cause);
});

test.concurrent("a cancelled copy gets a signal and time to clean up", async () => {
  const account = await given.account();
  const id = await submitCopy(
    account,
    "trap 'echo cleaned >&2; exit 1' TERM; echo up >&2; while :; do sleep 0.1; done",
  );
  await eventually(async () => expect(await logOf(account, id)).toBe("up\n"));
  await account.put(`/commands/${id}`);
  expect(await waitForCommandEnd(account, id)).toMatchObject({ status: "cancelled" });
  expect(await logOf(account, id)).toContain("cleaned");
});

test.concurrent("a copy ends as error at the first check after its timeout", async () => {
  const account = await given.account();
  const id = await submitCopy(account, "exec sleep 60", { timeout: 1, retry: 2 });
  expect(await waitForCommandEnd(account, id)).toMatchObject({ status: "error" });
  expect(await logOf(account, id)).toContain("timed out: the timeout is 1 s");
  expect(await attemptsOf(id)).toBe(1);
});

test.concurrent("attempts share a folder for their journal, which is removed when the command has ended", async () => {
  const account = await given.account();
  const attempts = isExhaustive ? 3 : 2;
  const folder = `$(sed -n 's/.*"journalFolder":"\\([^"]*\\)".*/\\1/p' "$REQUEST")`;
  const script = `cd ${folder}; cat journal >&2; echo attempt >> journal; [ $(wc -l < journal) = ${attempts} ] || exit 1; ${printReport(copyEnd())}`;
  const id = await submitCopy(account, script, { retry: attempts - 1, retry_delay: 0 });
  expect(await waitForCommandEnd(account, id)).toMatchObject({ status: "done" });
  // Each attempt shows the lines of those before it.
  expect((await logOf(account, id)).match(/^attempt$/gm)).toHaveLength((attempts * (attempts - 1)) / 2);
  await eventually(() => expect(existsSync(journalOf(account, id))).toBe(false));
  await eventually(() => expect(openCopies()).not.toContain(`${account.accountId}-${id}`));
});

test.concurrent("an attempt on another node than the first one fails and says where the journal is", async () => {
  const account = await given.account();
  const id = await submitCopy(account, "exit 1", { retry: 3, retry_delay: 5 });
  await eventually(async () => expect(await attemptsOf(id)).toBe(1));
  const other = "11111111-2222-3333-4444-555555555555";
  const { system } = given.app.services.db;
  const [first] = await system.query<{ nodeId: string }>(
    `select node_id as "nodeId" from command_attempt where command_id = $1`,
    [id],
  );
  await system.query("update command_attempt set node_id = $2 where command_id = $1", [id, other]);
  // As if this node had refused an attempt already, and that had been tried again.
  const refused = `insert into command_attempt (command_id, account_id, number, ended_at, node_id)
    select command_id, account_id, 2, now(), $2 from command_attempt where command_id = $1 and number = 1`;
  await system.query(refused, [id, first?.nodeId]);
  await system.query("update command set due_at = now(), attempt = 2 where id = $1", [id]);
  expect(await waitForCommandEnd(account, id)).toMatchObject({ status: "error" });
  expect(await attemptsOf(id)).toBe(3);
  const [row] = await system.query<{ cause: string }>(
    "select cause from command_attempt where command_id = $1 and number = 3",
    [id],
  );
  expect(row?.cause).toContain(`the journal of the first attempt is on node ${other}`);
});

test.concurrent("a copy without files succeeds, even if its cluster is DOWN or of type connect", async () => {
  const account = await given.account();
  await account.put("/api/v2/clusters/default/state", { state: "terminate" });
  const engine = { type: "connect", url: "sc://connect.example.com:15002" };
  await account.post("/api/v2/clusters", { labels: ["remote"], engine });
  for (const label of ["default", "remote"]) {
    const id = await submitCopy(account, printReport(copyEnd()), { label });
    expect(await waitForCommandEnd(account, id), label).toMatchObject({ status: "done" });
    // Columns but no rows.
    const { text } = await account.get(`/commands/${id}/results?include_headers=true`).reply();
    expect(JSON.parse(text)).toEqual({ inline: true, results: "source\tdestination\tbytes\r\n" });
  }
  expect(await account.get("/api/v2/clusters/default/state")).toMatchObject({ state: "DOWN" });
});

test.concurrent("keys are neither in the arguments nor in the environment of any process, but in a private file", async () => {
  const account = await given.account();
  await account.put("/api/v2/accounts", {
    account: { storage_access_key: "AKIAACCESSOFACCOUNT0", storage_secret_key: "secret-of-account" },
  });
  const wait = Buffer.from("exec sleep 60").toString("base64");
  const { id } = await account.post("/commands", {
    command_type: "HadoopCommand",
    sub_command: "s3distcp",
    sub_command_args: `--stub ${wait} --encryptionKey key-of-copy -Dfs.s3a.secret.key=$key$`,
    macros: [{ key: "'key-of-macro'" }],
  });
  await eventually(async () => expect(await account.get(`/commands/${id}`)).toMatchObject({ pid: expect.any(Number) }));
  const { folder } = filesOf(account, id).attempt(1);
  const secrets = /secret-of-account|key-of-copy|key-of-macro/;
  const request = join(folder, "input/copy.json");
  const { words, account: seen } = JSON.parse(readFileSync(request, "utf8"));
  expect(words.slice(2)).toEqual(["--encryptionKey", "key-of-copy", "-Dfs.s3a.secret.key=key-of-macro"]);
  expect(seen.s3.credentials).toEqual({ accessKeyId: "AKIAACCESSOFACCOUNT0", secretAccessKey: "secret-of-account" });
  expect(statSync(request).mode & 0o777).toBe(0o600);
  const pids = (await listProcesses()).filter(
    ({ commandLine }) => commandLine.includes(folder) || commandLine.includes("/headgate/input"),
  );
  expect(pids.length).toBeGreaterThan(1);
  for (const { pid, commandLine } of await listProcesses()) {
    expect(commandLine).not.toMatch(secrets);
    expect(environmentOf(pid)).not.toMatch(secrets);
  }
  expect(readFileSync(join(folder, "spec.json"), "utf8")).not.toMatch(secrets);
  await account.put(`/commands/${id}`);
  await waitForCommandEnd(account, id);
  await eventually(() => expect(existsSync(request)).toBe(false));
});

function environmentOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/environ`, "utf8");
  } catch {
    return ""; // it has ended
  }
}

test.concurrent("a named pipe in place of the request file does not block the server", async () => {
  const account = await given.account();
  const report = printReport(copyEnd({ usedAccountKeys: true }));
  const id = await submitCopy(account, `echo up >&2; while [ -f "$REQUEST" ]; do sleep 0.05; done; ${report}`);
  await eventually(async () => expect(await logOf(account, id)).toBe("up\n"));
  const request = join(filesOf(account, id).attempt(1).folder, "input/copy.json");
  rmSync(request);
  execFileSync("mkfifo", [request]);
  expect(await waitForCommandEnd(account, id)).toMatchObject({ status: "done" });
});

test.concurrent("a copy of another account is not found", async () => {
  const [mine, theirs] = [await given.account(), await given.account()];
  const id = await submitCopy(theirs, printReport(copyEnd()));
  for (const path of ["", "/results", "/logs", "/jobs"]) await mine.get(`/commands/${id}${path}`).refused(404);
});

test("the job of a continued copy has the files of all attempts, and the metrics count only those of the last attempt", async () => {
  const account = await given.account();
  const count = async (name: string): Promise<number> => {
    const { text } = await given.anonymous().get("/metrics").reply();
    return Number(new RegExp(`^headgate_copy_${name}_total (\\d+)$`, "m").exec(text)?.[1]);
  };
  const before = [await count("files"), await count("bytes"), await count("retries")] as const;
  const end = copyEnd({ files: 3, earlierFiles: 9, bytes: 40, retries: 5 });
  const id = await submitCopy(account, printReport(progress(100, 12, 12), end));
  expect(await waitForCommandEnd(account, id)).toMatchObject({ status: "done" });
  expect(await account.get(`/commands/${id}/jobs`)).toMatchObject([
    { job_stats: { num_tasks: 12, num_completed_tasks: 12 } },
  ]);
  expect(await count("files")).toBe(before[0] + 3);
  expect(await count("bytes")).toBe(before[1] + 40);
  expect(await count("retries")).toBe(before[2] + 5);
});
