/**
 * The real process of a copy, ended at a known moment: while the relay to the store does not answer some requests.
 * Most of the time is waiting, so the tests run concurrently.
 */
import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { kill, listLiveRuns, type LiveRun } from "../../../test/chaos/processes.ts";
import { because } from "../../../test/skip-reasons/skip-reasons.ts";
import { allFiles, operationOf } from "../../../test/support/faulty-copies.ts";
import { isExhaustive } from "../../../test/support/exhaustive.ts";
import { useServer, type AccountClient } from "../../../test/support/given.ts";
import { waitForCommandEnd } from "../../../test/support/wait-for-command-end.ts";
import { faultyRelay, type Fault, type FaultyRelay, type RelayedRequest } from "../../../test/seaweedfs/relay.ts";
import { storageSettings, useSeaweedFs } from "../../../test/seaweedfs/seaweedfs.ts";
import type { S3Store } from "../../object-store/s3/s3-operations.ts";
import { s3Store } from "../../object-store/s3/s3-store.ts";
import { journalFile } from "../../engines/s3-copy/journal.ts";
import { commandFiles } from "../execution/command-files.ts";

const FULL_RUN_ONLY = because("it is a variant that only `npm run test:full` tries");
const MIB = 1024 * 1024;
const PATIENCE = { timeout: 45_000 };
const GRACE_MS = 10_000;
const s3 = useSeaweedFs();
const relays: FaultyRelay[] = [];
// After the server has stopped, because it waits for clean-ups that would not reach their store any more.
afterAll(async () => {
  for (const relay of relays) await relay.close();
});
const given = useServer({
  settings: { HEADGATE_ALLOWED_NETWORKS: "127.0.0.0/8", HEADGATE_TIMEOUT_CHECK_SECONDS: "1" },
});
const large = randomBytes(5 * MIB + 1);
let store: S3Store;
let bucket: string;

beforeAll(async () => {
  store = s3Store({ ...s3, endpoint: s3.endpoint, checkAddress: () => null });
  bucket = await s3.bucket();
});
afterAll(() => store.close());

interface Held {
  readonly account: AccountClient;
  readonly relay: FaultyRelay;
  /** The storage folder of the account. */
  readonly files: string;
  /** Requests that are not answered. */
  readonly held: readonly RelayedRequest[];
  /** From now on all requests are answered. */
  letGo(): void;
}

/** An account whose store does not answer the requests that `isHeld` picks. */
async function heldAccount(isHeld: (operation: string, request: RelayedRequest) => boolean): Promise<Held> {
  const held: RelayedRequest[] = [];
  let isOver = false;
  const relay = await faultyRelay(s3.endpoint, (request): Fault | undefined => {
    if (isOver || !isHeld(operationOf(request), request)) return undefined;
    held.push(request);
    return { kind: "silence" };
  });
  relays.push(relay);
  const account = await given.account();
  await account.put("/api/v2/accounts", { account: storageSettings(s3.credentials, relay.endpoint) });
  const files = join(given.dataDir, "accounts", String(account.accountId), "storage");
  mkdirSync(files, { recursive: true });
  return { account, relay, files, held, letGo: () => void (isOver = true) };
}

const isPart = (operation: string): boolean => operation === "PUT partNumber uploadId";

/** Writes two small files and two large ones. */
function putFiles(folder: string): string {
  mkdirSync(folder, { recursive: true });
  for (const name of ["a", "b"]) writeFileSync(join(folder, name), name);
  for (const name of ["x", "y"]) writeFileSync(join(folder, name), large);
  return `file://${folder}`;
}

async function submit({ account }: Held, args: string, more: object = {}): Promise<number> {
  const command = { command_type: "HadoopCommand", sub_command: "s3distcp" };
  const sub_command_args = `${args} --multipartUploadChunkSize 5`;
  const { id } = await account.post("/commands", { ...command, sub_command_args, ...more });
  return id;
}

/** The processes of a command's current attempt. */
async function runOf(id: number): Promise<LiveRun> {
  const run = (await listLiveRuns(given.dataDir)).find(({ attempt }) => attempt?.command === id);
  if (run === undefined) throw new Error(`${id} has no process`);
  return run;
}

/** Kills the copy's own process, not the sandbox around it. */
async function killProcess(id: number): Promise<void> {
  const { driverProcesses } = await runOf(id);
  const own = driverProcesses.find(({ name }) => name === "node" || name === "MainThread");
  if (own === undefined) throw new Error(`no copy among ${driverProcesses.map(({ name }) => name).join(", ")}`);
  kill(own.pid);
}

const doneOutputs = ({ account }: Held, id: number): number => {
  const path = journalFile(join(commandFiles(given.dataDir, account.accountId, id).folder, "copy"));
  return existsSync(path) ? readFileSync(path, "utf8").split('["done",').length - 1 : 0;
};
const openUploads = (base: string): Promise<unknown[]> => Array.fromAsync(store.openUploads(`${base}/`));
const namesBelow = async (base: string): Promise<string[]> =>
  (await Array.fromAsync(store.list(`${base}/`))).map(({ uri }) => uri.slice(base.length + 1));
const logOf = async ({ account }: Held, id: number): Promise<string> =>
  (await account.get(`/commands/${id}/logs`).reply()).text;

let count = 0;

/** A copy from files to S3 whose parts are held after its small files have been copied. */
async function heldUpload(more: object = {}): Promise<Held & { id: number; dest: string }> {
  const held = await heldAccount(isPart);
  const dest = `s3://${bucket}/u${++count}`;
  const id = await submit(held, `--src ${putFiles(join(held.files, "in"))} --dest ${dest}`, more);
  await vi.waitFor(() => expect([held.held.length, doneOutputs(held, id)]).toEqual([4, 2]), PATIENCE);
  expect(await openUploads(dest)).toHaveLength(2);
  return { ...held, id, dest };
}

/** A copy from S3 to files whose large reads are held. */
async function heldDownload(more: object = {}): Promise<Held & { id: number; out: string }> {
  const held = await heldAccount((operation, { headers }) => operation === "GET" && "range" in headers);
  const src = `s3://${bucket}/d${++count}`;
  for (const name of ["a", "b"]) await store.write(`${src}/${name}`, Buffer.from(name));
  await store.write(`${src}/x`, large);
  const out = join(held.files, "out");
  const id = await submit(held, `--src ${src} --dest file://${out}`, more);
  await vi.waitFor(() => expect([held.held.length, doneOutputs(held, id)]).toEqual([2, 2]), PATIENCE);
  expect(allFiles(out)).toEqual([expect.stringMatching(/^\.put-/), "a", "b"]);
  return { ...held, id, out };
}

async function expectComplete({ account }: Held, id: number, names: readonly string[]): Promise<void> {
  const { text } = await account.get(`/commands/${id}/results?format=json`).reply();
  const rows = JSON.parse(text) as { source: string; bytes: number }[];
  expect(rows.map(({ source, bytes }) => [source.slice(source.lastIndexOf("/") + 1), bytes])).toEqual(
    names.map((name) => [name, name.length === 1 && name < "x" ? 1 : large.length]),
  );
}

describe.concurrent("while large uploads run", () => {
  test("a cancel aborts them within the grace", async () => {
    const { account, id, dest } = await heldUpload();
    const began = performance.now();
    await account.put(`/commands/${id}`);
    expect(await waitForCommandEnd(account, id)).toMatchObject({ status: "cancelled" });
    expect(performance.now() - began).toBeLessThan(GRACE_MS);
    expect(await openUploads(dest)).toEqual([]);
    expect(await namesBelow(dest)).toEqual(["a", "b"]);
  });

  test.runIf(isExhaustive)("a timeout aborts them within the grace", FULL_RUN_ONLY, async () => {
    const upload = await heldUpload({ timeout: 5 });
    expect(await waitForCommandEnd(upload.account, upload.id)).toMatchObject({ status: "error" });
    expect(await logOf(upload, upload.id)).toContain("timed out");
    expect(await openUploads(upload.dest)).toEqual([]);
  });

  test("kill -9 of the process ends the attempt; the next one copies only what is missing", async () => {
    const upload = await heldUpload({ retry: 1, retry_delay: 0 });
    const { relay, account, id, dest } = upload;
    const before = relay.requests.length;
    upload.letGo();
    await killProcess(id);
    expect(await waitForCommandEnd(account, id)).toMatchObject({ status: "done" });
    expect(await logOf(upload, id)).toContain("2 outputs were finished by an earlier attempt");
    expect(relay.requests.slice(before).filter((request) => operationOf(request) === "PUT")).toEqual([]);
    expect(await openUploads(dest)).toEqual([]);
    for (const name of ["x", "y"]) expect((await store.read(`${dest}/${name}`)).bytes.equals(large)).toBe(true);
    await expectComplete(upload, id, ["a", "b", "x", "y"]);
  });

  test("kill -9 of the last attempt leaves uploads that the clean-up aborts", async () => {
    const { account, id, dest } = await heldUpload();
    await killProcess(id);
    expect(await waitForCommandEnd(account, id)).toMatchObject({ status: "error" });
    await vi.waitFor(async () => expect(await openUploads(dest)).toEqual([]), PATIENCE);
    expect(await namesBelow(dest)).toEqual(["a", "b"]);
  });

  test("kill -9 of the runner ends the process with it, and the next attempt continues", async () => {
    const upload = await heldUpload({ retry: 1, retry_delay: 0 });
    const { account, id, dest } = upload;
    const { runner } = await runOf(id);
    upload.letGo();
    kill(runner.pid);
    expect(await waitForCommandEnd(account, id)).toMatchObject({ status: "done" });
    expect(await openUploads(dest)).toEqual([]);
    await expectComplete(upload, id, ["a", "b", "x", "y"]);
  });
});

describe.concurrent("while large files are written", () => {
  test("a cancel removes what is unfinished", async () => {
    const { account, id, out } = await heldDownload();
    await account.put(`/commands/${id}`);
    expect(await waitForCommandEnd(account, id)).toMatchObject({ status: "cancelled" });
    expect(allFiles(out)).toEqual(["a", "b"]);
  });

  test("after kill -9 no partial file is visible, and the next attempt completes it", async () => {
    const download = await heldDownload({ retry: 1, retry_delay: 0 });
    const { account, id, out } = download;
    download.letGo();
    await killProcess(id);
    expect(await waitForCommandEnd(account, id)).toMatchObject({ status: "done" });
    expect(allFiles(out)).toEqual(["a", "b", "x"]);
    expect(readFileSync(join(out, "x")).equals(large)).toBe(true);
    await expectComplete(download, id, ["a", "b", "x"]);
  });

  test.runIf(isExhaustive)(
    "kill -9 of the last attempt leaves an unfinished file that the clean-up removes",
    FULL_RUN_ONLY,
    async () => {
      const { account, id, out } = await heldDownload();
      await killProcess(id);
      expect(await waitForCommandEnd(account, id)).toMatchObject({ status: "error" });
      await vi.waitFor(() => expect(allFiles(out)).toEqual(["a", "b"]), PATIENCE);
    },
  );
});
