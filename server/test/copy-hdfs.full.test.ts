import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import type { ObjectStore } from "../src/object-store/object-store.ts";
import { hdfsStore } from "../src/object-store/hdfs/hdfs-store.ts";
import { temporaryName } from "../src/object-store/file/temporary-name.ts";
import { cleanUpCopy } from "../src/engines/s3-copy/clean-up.ts";
import { Journal } from "../src/engines/s3-copy/journal.ts";
import { startMiniHdfs, type MiniHdfs } from "./mini-hadoop/mini-hadoop.ts";
import { findSparkHome, SET_UP_MS } from "./support/connect-server.ts";
import type { CopyOf, CopyRun } from "./support/copy-run.ts";
import { allFiles, operationOf, useFaultyCopies } from "./support/faulty-copies.ts";
import { sparkIsMissing } from "./support/spark-missing.ts";

const MIB = 1024 * 1024;
const USER = "us";

// Skipped on machines without Java or Python.
describe.skipIf(sparkIsMissing)("a copy with a real HDFS", () => {
  const copies = useFaultyCopies();
  let hdfs: MiniHdfs;
  let account: Required<Pick<NonNullable<CopyOf["account"]>, "hdfs">>;
  let store: ObjectStore;

  beforeAll(async () => {
    const { cacheDir } = inject("postgres");
    hdfs = await startMiniHdfs(await findSparkHome(cacheDir), cacheDir);
    const address = hdfs.webHdfs.replace("/webhdfs/v1", "");
    account = { hdfs: { address, user: USER } };
    store = hdfsStore({ address, user: USER, checkAddress: () => null });
  }, SET_UP_MS);

  afterAll(async () => {
    await store?.close();
    await hdfs?.stop();
  });

  let count = 0;
  const folder = (): string => `hdfs:///h${++count}`;
  const run = (args: string, options: CopyOf = {}): Promise<CopyRun> =>
    copies.bench.run(`--multipartUploadChunkSize 5 ${args}`, { account, ...options });
  const contentsOf = async (uri: string): Promise<Buffer> => buffer((await store.get(uri)).body);
  const put = async (base: string, contents: Readonly<Record<string, string | Buffer>>): Promise<void> => {
    for (const [name, text] of Object.entries(contents)) await store.put(`${base}/${name}`, Buffer.from(text));
  };

  /** Everything below a folder, temporary files included. */
  async function namesBelow(base: string): Promise<string[]> {
    const path = base.replace("hdfs://", "");
    const answer = await fetch(`${hdfs.webHdfs}${path}?op=LISTSTATUS&user.name=${USER}`);
    if (answer.status === 404) return [];
    const { FileStatuses } = (await answer.json()) as {
      FileStatuses: { FileStatus: { pathSuffix: string; type: string }[] };
    }; // as Hadoop documents it
    const names = FileStatuses.FileStatus.map(async ({ pathSuffix, type }) =>
      type === "FILE"
        ? [pathSuffix]
        : (await namesBelow(`${base}/${pathSuffix}`)).map((each) => `${pathSuffix}/${each}`),
    );
    return (await Promise.all(names)).flat().toSorted();
  }

  test("goes from S3 to HDFS, from there to files and back to S3, with small, large and empty files", async () => {
    const contents = { a: Buffer.from("small"), "b c/ü=1%": randomBytes(11 * MIB), empty: Buffer.alloc(0) };
    const src = await copies.put(contents);
    const [there, back] = [folder(), copies.folder()];
    const { path, uri } = copies.newFiles();
    expect((await run(`--src ${src} --dest ${there}`)).end).toMatchObject({ failure: null, files: 3 });
    expect(await namesBelow(there)).toEqual(Object.keys(contents));
    expect((await contentsOf(`${there}/b c/ü=1%`)).equals(contents["b c/ü=1%"])).toBe(true);
    expect((await run(`--src ${there} --dest ${uri}`)).end).toMatchObject({ failure: null, files: 3 });
    expect(allFiles(path)).toEqual(Object.keys(contents));
    expect(readFileSync(join(path, "b c/ü=1%")).equals(contents["b c/ü=1%"])).toBe(true);
    const up = await run(`--src ${there} --dest ${back} --deleteOnSuccess`);
    expect(up.end).toMatchObject({ failure: null, files: 3 });
    await copies.expectObjects(back, contents);
    expect(await namesBelow(there)).toEqual([]);
  });

  test("has the right bytes although the memory of its parts is used again", async () => {
    const large = randomBytes(80 * MIB);
    const src = copies.putFiles({ large });
    const dest = folder();
    expect((await run(`--src ${src} --dest ${dest}`, { bufferMiB: 20 })).end.failure).toBeNull();
    expect((await contentsOf(`${dest}/large`)).equals(large)).toBe(true);
  });

  test("joins groups, and appends to them", async () => {
    const dest = folder();
    const args = `--dest ${dest} --groupBy '.*/(log)-.*' --appendToLastFile`;
    const first = await copies.put({ "log-a": "one ", "log-b": randomBytes(6 * MIB) });
    expect((await run(`--src ${first} ${args}`)).end.failure).toBeNull();
    const before = await contentsOf(`${dest}/log`);
    expect(before.length).toBe(6 * MIB + 4);
    const more = await copies.put({ "log-c": " two" });
    expect((await run(`--src ${more} ${args}`)).end.failure).toBeNull();
    const after = await contentsOf(`${dest}/log`);
    expect(after.equals(Buffer.concat([before, Buffer.from(" two")]))).toBe(true);
    expect(await namesBelow(dest)).toEqual(["log"]);
  });

  test("changes the compression of files", async () => {
    const [src, dest, plain] = [folder(), folder(), folder()];
    const text = "a line of text\n".repeat(500_000);
    await put(src, { "a.txt": text });
    expect((await run(`--src ${src} --dest ${dest} --outputCodec gzip`)).end.failure).toBeNull();
    expect((await run(`--src ${dest} --dest ${plain} --outputCodec none`)).end.failure).toBeNull();
    expect((await contentsOf(`${plain}/a.txt`)).toString()).toBe(text);
  });

  test("refuses a name with a colon and names it, before anything is written", async () => {
    const src = await copies.put({ "12:30": "x" });
    const dest = folder();
    const { end } = await run(`--src ${src} --dest ${dest}`);
    expect(end.failure).toContain("12:30");
    expect(await namesBelow(dest)).toEqual([]);
  });

  test("fails if the destination exists or the source does not", async () => {
    const [src, dest] = [folder(), folder()];
    await put(src, { a: "1" });
    await put(dest, { a: "1" });
    expect((await run(`--src ${src} --dest ${dest}`)).end.failure).toContain("the destination exists already");
    expect((await run(`--src ${folder()} --dest ${folder()}`)).end.failure).toContain("the source does not exist");
  });

  test("leaves nothing in hdfs:///tmp, where outputs of unknown size wait that S3 must get in one request", async () => {
    const src = folder();
    const large = randomBytes(11 * MIB);
    await put(src, { large });
    const dest = copies.folder();
    const args = `--src ${src} --dest ${dest} --disableMultipartUpload --outputCodec gzip`;
    let waiting: string[] = [];
    const look = async (): Promise<void> => void (waiting = await namesBelow("hdfs:///tmp"));
    const { end } = await copies.run(
      args,
      (request) => (operationOf(request) === "PUT" ? { kind: "hold", until: look() } : undefined),
      { account },
    );
    expect(end.failure).toBeNull();
    expect(waiting).toEqual([expect.stringMatching(/^headgate-copy-[0-9a-f]+-1$/)]);
    expect(await namesBelow("hdfs:///tmp")).toEqual([]);
    const { bytes, etag } = await copies.store.read(`${dest}/large.gz`);
    expect(etag).not.toContain("-");
    expect(gunzipSync(bytes).equals(large)).toBe(true);
  });

  test("that is ended leaves neither unfinished nor temporary files", async () => {
    const src = await copies.put({ large: randomBytes(11 * MIB) });
    const dest = folder();
    const ending = new AbortController();
    const { end } = await copies.run(
      `--src ${src} --dest ${dest}`,
      (request) => {
        if (!("range" in request.headers) || !request.headers["range"]?.startsWith("bytes=10485760")) return undefined;
        ending.abort(new Error("ended by the user"));
        return { kind: "silence" };
      },
      { account, signal: ending.signal },
    );
    expect(end.failure).toContain("ended by the user");
    expect(await namesBelow(dest)).toEqual([]);
  });

  test("that was killed is cleaned up: unfinished and temporary files are removed", async () => {
    const src = await copies.put({ a: "1" });
    const dest = folder();
    const command = "killed";
    const request = copies.bench.request(`--src ${src} --dest ${dest}`, { account, command });
    const journal = await Journal.open(request.journalFolder);
    await journal.begin(["sub/a"]);
    const waiting = `hdfs:///tmp/headgate-copy-${journal.id}-1`;
    await journal.noteTemporary(waiting);
    await journal.close();
    await put(dest, { "sub/half": "ha" });
    await store.put(waiting, Buffer.from("whole"));
    const path = dest.replace("hdfs://", "");
    const unfinished = `sub/${temporaryName(journal.id, `${path}/sub/a`)}`;
    const rename = `op=RENAME&destination=${path}/${unfinished}&user.name=${USER}`;
    await fetch(`${hdfs.webHdfs}${path}/sub/half?${rename}`, { method: "PUT" });
    expect(await namesBelow(dest)).toEqual([unfinished]);
    expect(await cleanUpCopy(request, AbortSignal.timeout(10_000))).toBe(2);
    expect(await namesBelow(dest)).toEqual([]);
    expect(await namesBelow("hdfs:///tmp")).toEqual([]);
  });
});
