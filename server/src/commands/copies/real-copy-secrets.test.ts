import { randomBytes } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { faultyRelay, type FaultyRelay } from "../../../test/seaweedfs/relay.ts";
import { storageSettings, useSeaweedFs } from "../../../test/seaweedfs/seaweedfs.ts";
import { isExhaustive } from "../../../test/support/exhaustive.ts";
import { useServer, type AccountClient } from "../../../test/support/given.ts";
import { storedText } from "../../../test/support/stored-text.ts";
import { waitForCommandEnd } from "../../../test/support/wait-for-command-end.ts";
import type { S3Store } from "../../object-store/s3/s3-operations.ts";
import { s3Store } from "../../object-store/s3/s3-store.ts";
import { listProcesses } from "../../lib/process-table.ts";

const s3 = useSeaweedFs();
const given = useServer({ settings: { HEADGATE_ALLOWED_NETWORKS: "127.0.0.0/8" } });
const copy = { command_type: "HadoopCommand", sub_command: "s3distcp" };
let account: AccountClient;
let store: S3Store;
let relay: FaultyRelay;
let bucket: string;
/** Writes to the store wait until it is resolved. */
let gate = Promise.withResolvers<void>();

beforeAll(async () => {
  store = s3Store({ ...s3, endpoint: s3.endpoint, checkAddress: () => null });
  bucket = await s3.bucket();
  await store.write(`s3://${bucket}/in/a`, Buffer.from("1"));
  relay = await faultyRelay(s3.endpoint, ({ method }) =>
    method === "PUT" ? { kind: "hold", until: gate.promise } : undefined,
  );
  account = await given.account();
  await account.put("/api/v2/accounts", { account: storageSettings(s3.credentials, relay.endpoint) });
});
afterAll(async () => {
  gate.resolve();
  await relay.close();
  await store.close();
});

type Submission = (key: string, dest: string) => object;
const args = (dest: string): string => `--src s3://${bucket}/in --dest ${dest} --s3SSEAlgorithm SSE-C`;

/** `mask-copy.test.ts` submits keys in these ways and many others, without running the copies. */
const otherWays: [string, Submission][] = [
  ["quoted as a whole", (key, dest) => ({ sub_command_args: `"${args(dest)} --encryptionKey=${key}"` })],
  ["in a field", (key, dest) => ({ sub_command_args: args(dest), encryptionKey: key })],
];

test.each<[string, Submission]>([
  ["in the arguments", (key, dest) => ({ sub_command_args: `${args(dest)} --encryptionKey ${key}` })],
  [
    "through a macro",
    (key, dest) => ({ sub_command_args: `${args(dest)} --encryptionKey $key$`, macros: [{ key: `'${key}'` }] }),
  ],
  ...(isExhaustive ? otherWays : []),
])("a key %s encrypts the copy, and is shown nowhere while the copy runs or afterwards", async (how, submission) => {
  gate = Promise.withResolvers();
  const key = randomBytes(32).toString("base64");
  const dest = `s3://${bucket}/${how.replaceAll(" ", "-")}`;
  const asked = relay.requests.length;
  const submitted = await account.post("/commands", { ...copy, ...submission(key, dest) });
  await expect.poll(() => relay.requests.slice(asked).some(({ method }) => method === "PUT")).toBe(true);
  const processes = await listProcesses();
  expect(processes.some(({ commandLine }) => commandLine.includes("copy.json"))).toBe(true);
  for (const { pid, commandLine } of processes) {
    expect(commandLine).not.toContain(key);
    expect(environmentOf(pid)).not.toContain(key);
  }
  const holders = (): string[] => filesBelow(given.dataDir).filter((path) => readText(path).includes(key));
  expect(holders().map((path) => basename(path))).toEqual(["copy.json"]);
  gate.resolve();
  const ended = await waitForCommandEnd(account, submitted.id);
  expect(ended).toMatchObject({ status: "done" });
  const { bytes } = await store.read(`${dest}/a`, { customerKey: key });
  expect(bytes.toString()).toBe("1");
  await expect(store.read(`${dest}/a`)).rejects.toThrow(/refuses|denied/);
  const answers = await Promise.all(
    ["", "/logs", "/results", "/jobs"].map((path) => account.get(`/commands/${ended.id}${path}`).reply()),
  );
  const listed = await account.get("/commands?include_query_properties=true");
  expect(JSON.stringify([submitted, ended, listed, answers.map(({ text }) => text)])).not.toContain(key);
  const stored = await storedText(given.app.services.db.system);
  expect(stored).not.toContain(key);
  expect(stored).not.toContain(Buffer.from(key).toString("hex"));
  await expect.poll(holders).toEqual([]);
});

function environmentOf(pid: number): string {
  return readText(`/proc/${pid}/environ`);
}

/** Empty: the file or process is gone. */
function readText(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return "";
  }
}

function filesBelow(folder: string): string[] {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}
