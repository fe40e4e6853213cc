import { randomBytes } from "node:crypto";
import { readdirSync, readFileSync, truncateSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { errorAnswer, type FaultyRelay } from "../../../test/seaweedfs/relay.ts";
import { useCopyFolders } from "../../../test/support/copy-folders.ts";
import { cleanUpCopy } from "./clean-up.ts";
import { Journal, journalFile } from "./journal.ts";

const MIB = 1024 * 1024;
const given = useCopyFolders();
const { copies, folder, put, contentsOf, putFiles, filesIn, relay, accountAt } = given;

describe("deleteOnSuccess", () => {
  test("deletes the copied sources, including members of groups, and nothing else", async () => {
    const [src, dest] = [folder(), folder()];
    await put(src, { "log-1": "1", "log-2": "2", "b.txt": "3" });
    const { end } = await copies.run(`--src ${src} --dest ${dest} --groupBy '.*/(log)-.' --deleteOnSuccess`);
    expect(end.failure).toBeNull();
    expect(await contentsOf(src)).toEqual({ "b.txt": "3" });
    expect(await contentsOf(dest)).toEqual({ log: "12" });
  });

  test("deletes nothing if any output fails", async () => {
    const src = putFiles("partly", { "a.gz": "not gzip", b: "2", c: "3" });
    const { end } = await copies.run(`--src ${src} --dest ${folder()} --outputCodec none --deleteOnSuccess`);
    expect(end.failure).toContain(`${src}/a.gz`);
    expect(Object.keys(filesIn("partly"))).toEqual(["a.gz", "b", "c"]);
  });

  test("deletes no object that has changed since it was copied, and fails", async () => {
    const [src, dest] = [folder(), folder()];
    await put(src, { a: "1", b: "2" });
    const args = `--src ${src} --dest ${dest}`;
    await copies.run(args, { command: "changed" }); // as if it had ended before it deleted anything
    await put(src, { b: "3" });
    const { end } = await copies.run(`${args} --deleteOnSuccess`, { command: "changed" });
    expect(end.failure).toBe(
      `1 of 2 sources were deleted; kept, because they have changed since they were copied: ${src}/b`,
    );
    expect(await contentsOf(src)).toMatchObject({ b: "3" });
    expect(await contentsOf(dest)).toEqual({ a: "1", b: "2" });
  });

  test("deletes no file that has changed since it was copied, and fails", async () => {
    const [src, dest] = [putFiles("changed", { a: "1" }), folder()];
    const args = `--src ${src} --dest ${dest}`;
    await copies.run(args, { command: "changed-file" });
    const path = join(copies.files, "changed/a");
    writeFileSync(path, "2");
    utimesSync(path, 1, 1);
    const { end } = await copies.run(`${args} --deleteOnSuccess`, { command: "changed-file" });
    expect(end.failure).toBe(
      `0 of 1 sources were deleted; kept, because they have changed since they were copied: ${src}/a`,
    );
    expect(filesIn("changed")).toEqual({ a: "2" });
  });

  test("fails if a source cannot be deleted, and leaves the copy", async () => {
    const [src, dest] = [folder(), folder()];
    await put(src, { a: "1" });
    const key = src.slice(src.indexOf("/", "s3://".length) + 1);
    const body = `<DeleteResult><Error><Key>${key}/a</Key><Code>AccessDenied</Code></Error></DeleteResult>`;
    const denied = await relay(({ method, url }) =>
      method === "POST" && url.includes("?delete") ? { kind: "answer", status: 200, body } : undefined,
    );
    const { end } = await copies.run(`--src ${src} --dest ${dest} --deleteOnSuccess`, accountAt(denied.endpoint));
    expect(end.failure).toBe(`0 of 1 sources were deleted; could not be deleted: ${src}/a (AccessDenied)`);
    expect(await contentsOf(src)).toEqual({ a: "1" });
    expect(await contentsOf(dest)).toEqual({ a: "1" });
  });
});

describe("uploads", () => {
  test.each([
    ["", /^[0-9a-f]{32}$/],
    ["--multipartUploadChunkSize 5", /-3$/],
    ["--multipartUploadChunkSize 6", /-2$/],
  ])("have as many parts as the chunk size requires: %s", async (options, etag) => {
    const [src, dest] = [putFiles("parts", { large: randomBytes(11 * MIB) }), folder()];
    expect((await copies.run(`--src ${src} --dest ${dest} ${options}`)).end.failure).toBeNull();
    expect((await given.store.head(`${dest}/large`)).etag).toMatch(etag);
  });

  test("have smaller parts than requested if the memory requires it, and the log says so", async () => {
    const [src, dest] = [putFiles("parts", { large: randomBytes(11 * MIB) }), folder()];
    const { end, log } = await copies.run(`--src ${src} --dest ${dest} --multipartUploadChunkSize 512`, {
      bufferMiB: 24,
    });
    expect(end.failure).toBeNull();
    expect(log).toContain("--multipartUploadChunkSize: parts have 6 MiB, the most that a copy's memory allows");
    expect((await given.store.head(`${dest}/large`)).etag).toMatch(/-2$/);
  });

  test("are one request each with disableMultipartUpload, and the temporary folder is empty afterwards", async () => {
    const large = randomBytes(6 * MIB);
    const src = putFiles("one-request", { large });
    const [dest, recoded] = [folder(), folder()];
    const options = `--disableMultipartUpload --multipartUploadChunkSize 5 --tmpDir file://${copies.files}/tmp/x/`;
    expect((await copies.run(`--src ${src} --dest ${dest} ${options}`)).end.failure).toBeNull();
    expect((await copies.run(`--src ${src} --dest ${recoded} --outputCodec gzip ${options}`)).end.failure).toBeNull();
    expect((await given.store.read(`${dest}/large`)).bytes.equals(large)).toBe(true);
    for (const uri of [`${dest}/large`, `${recoded}/large.gz`]) {
      const { size, etag } = await given.store.head(uri);
      expect(size).toBeGreaterThan(5 * MIB);
      expect(etag).not.toContain("-");
    }
    expect(readdirSync(join(copies.files, "tmp/x"))).toEqual([]);
  });

  test("do not wait for themselves if one request at a time writes an object and reads its sources", async () => {
    const [src, dest] = [folder(), folder()];
    const members = [randomBytes(4 * MIB), randomBytes(4 * MIB)];
    await put(src, { "g-1": members[0] ?? "", "g-2": members[1] ?? "" });
    const groups = "--groupBy '.*/(g)-.' --disableMultipartUpload --multipartUploadChunkSize 5";
    const signal = AbortSignal.timeout(30_000);
    const { end } = await copies.run(`-Dmapreduce.job.maps=1 --src ${src} --dest ${dest} ${groups}`, { signal });
    expect(end.failure).toBeNull();
    expect((await given.store.read(`${dest}/g`)).bytes.equals(Buffer.concat(members))).toBe(true);
  });

  test("leave the temporary folder empty if they fail", async () => {
    const src = putFiles("refused-request", { large: randomBytes(6 * MIB) });
    const recoded = `--outputCodec gzip --tmpDir file://${copies.files}/tmp/y`; // its size is unknown, so it waits there
    const options = `--disableMultipartUpload --multipartUploadChunkSize 5 ${recoded}`;
    const denied = await relay(({ method }) => (method === "PUT" ? errorAnswer(403, "AccessDenied") : undefined));
    const { end } = await copies.run(`--src ${src} --dest ${folder()} ${options}`, accountAt(denied.endpoint));
    expect(end.failure).toContain("large.gz: access denied (403 AccessDenied)");
    expect(denied.requests.map(({ method }) => method)).toContain("PUT");
    expect(readdirSync(join(copies.files, "tmp/y"))).toEqual([]);
  });

  test("of a killed attempt are removed from the temporary folder by the next one, or by the clean-up", async () => {
    const src = putFiles("killed", { a: "1" });
    const args = `--src ${src} --disableMultipartUpload --tmpDir file://${copies.files}/tmp/z --dest`;
    const left = async (command: string): Promise<void> => {
      const journal = await Journal.open(copies.request("", { command }).journalFolder);
      const name = `tmp/z/headgate-copy-${journal.id}-1`;
      putFiles("", { [name]: "left" });
      await journal.noteTemporary(`file://${copies.files}/${name}`);
      await journal.close();
    };
    await left("killed-1");
    expect((await copies.run(`${args} ${folder()}`, { command: "killed-1" })).end.failure).toBeNull();
    expect(readdirSync(join(copies.files, "tmp/z"))).toEqual([]);
    await left("killed-2");
    const request = copies.request(`${args} ${folder()}`, { command: "killed-2" });
    expect(await cleanUpCopy(request, new AbortController().signal)).toBe(1);
    expect(readdirSync(join(copies.files, "tmp/z"))).toEqual([]);
  });

  test("of more than 5 GiB fail before the first byte with disableMultipartUpload", async () => {
    const src = putFiles("huge", { huge: "" });
    truncateSync(join(copies.files, "huge/huge"), 5 * 1024 ** 3 + 1);
    const counted = await relay();
    const dest = folder();
    const { end } = await copies.run(
      `--src ${src} --dest ${dest} --disableMultipartUpload`,
      accountAt(counted.endpoint),
    );
    expect(end).toMatchObject({
      bytes: 0,
      failure: expect.stringMatching(/huge.* would be larger than 5 GiB, .*: remove --disableMultipartUpload\.$/),
    });
    expect(counted.requests.filter(({ method }) => method !== "GET" && method !== "HEAD")).toEqual([]);
  });
});

test("filesPerMapper is the number of files that begin together", async () => {
  const src = putFiles("batches", Object.fromEntries(Array.from({ length: 10 }, (_, at) => [`f${at}`, String(at)])));
  const begun = async (options: string, command: string): Promise<number[]> => {
    const { end } = await copies.run(`--src ${src} --dest ${folder()} ${options}`, { command });
    expect(end.failure).toBeNull();
    const text = readFileSync(journalFile(copies.request("", { command }).journalFolder), "utf8");
    const lines = text.split("\n").filter((line) => line.startsWith('["begin"'));
    return lines.map((line) => (JSON.parse(line) as string[]).length - 1);
  };
  expect(await begun("--filesPerMapper 3", "batches-3")).toEqual([3, 3, 3, 1]);
  expect(await begun("", "batches")).toEqual([10]);
});

describe("a copy between objects", () => {
  const attributes = {
    contentType: "text/csv",
    contentEncoding: "identity",
    cacheControl: "no-cache",
    metadata: { owner: "someone", note: "ä" },
    storageClass: "STANDARD_IA",
  };

  test.each([
    ["by a server-side copy", "a", ""],
    ["of one object", "a", "FILE"],
    ["of a group of one", "a", "--groupBy '.*/(a).*'"],
    ["between two endpoints", "a", "--srcS3Endpoint RELAY"],
    ["between two endpoints in parts", "large", "--srcS3Endpoint RELAY --multipartUploadChunkSize 5"],
  ])("keeps type, metadata and storage class: %s", async (_way, name, options) => {
    const [src, dest] = [folder(), folder()];
    const bytes = name === "large" ? randomBytes(6 * MIB) : Buffer.from("1");
    await given.store.write(`${src}/${name}`, bytes, { attributes });
    const { endpoint } = await relay();
    const args = `--src ${src}${options === "FILE" ? `/${name}` : ""} --dest ${dest}`;
    const { end } = await copies.run(`${args} ${options.replace("FILE", "").replace("RELAY", endpoint)}`);
    expect(end.failure).toBeNull();
    expect((await given.store.head(`${dest}/${name}`)).attributes).toMatchObject(attributes);
  });

  test("keeps metadata and storage class if its compression changes, but not the type", async () => {
    const [src, dest] = [folder(), folder()];
    await given.store.write(`${src}/a`, Buffer.from("1"), { attributes });
    expect((await copies.run(`--src ${src} --dest ${dest} --outputCodec gzip`)).end.failure).toBeNull();
    const { attributes: kept } = await given.store.head(`${dest}/a.gz`);
    expect(kept).toMatchObject({ metadata: attributes.metadata, storageClass: "STANDARD_IA" });
    expect(kept.contentType).not.toBe("text/csv");
  });

  test.each(["", "--srcS3Endpoint RELAY", "--outputCodec gzip"])(
    "gets the requested storageClass (%s)",
    async (options) => {
      const [src, dest] = [folder(), folder()];
      await given.store.write(`${src}/a`, Buffer.from("1"), { attributes });
      const { endpoint } = await relay();
      const args = `--src ${src} --dest ${dest} --storageClass ONEZONE_IA ${options.replace("RELAY", endpoint)}`;
      expect((await copies.run(args)).end.failure).toBeNull();
      const [name = ""] = Object.keys(await contentsOf(dest));
      expect((await given.store.head(`${dest}/${name}`)).attributes.storageClass).toBe("ONEZONE_IA");
    },
  );
});

describe("endpoints", () => {
  test("of the source and the destination can differ, and both replace the account's", async () => {
    const [src, dest] = [folder(), folder()];
    await put(src, { a: "1" });
    const [source, both] = [await relay(), await relay()];
    const args = `--src ${src} --dest ${dest} --srcS3Endpoint ${source.endpoint} --s3Endpoint ${both.endpoint}`;
    expect((await copies.run(args, accountAt("http://127.0.0.1:9"))).end.failure).toBeNull();
    expect(source.requests.some(({ url }) => url.endsWith("/a"))).toBe(true);
    expect(source.requests.every(({ method }) => method === "GET" || method === "HEAD")).toBe(true);
    expect(both.requests.filter(({ method }) => method === "PUT").map(({ url }) => url)).toEqual([
      `/${dest.slice("s3://".length)}/a`,
    ]);
    expect(await contentsOf(dest)).toEqual({ a: "1" });
  });

  test("without a scheme get the account's scheme if they are the account's endpoint", async () => {
    const src = folder();
    await put(src, { a: "1" });
    const host = given.s3.endpoint.replace("http://", "");
    expect((await copies.run(`--src ${src} --dest ${folder()} --s3Endpoint ${host}`)).end.failure).toBeNull();
  });

  test("must have an address that the operator allows", async () => {
    for (const option of ["s3Endpoint", "srcS3Endpoint"]) {
      const args = `--src ${folder()} --dest ${folder()} --${option} http://10.1.2.3:9000`;
      const { end } = await copies.run(args);
      expect(end.failure).toContain("must not be in a loopback, private or reserved network");
      expect(end).toMatchObject({ retries: 0, usedAccountKeys: false });
    }
    const { end } = await copies.run(`--src ${folder()} --dest ${folder()}`, { allowedNetworks: [] });
    expect(end.failure).toContain("an operator can allow networks in HEADGATE_ALLOWED_NETWORKS");
  });
});

describe("generic options of Hadoop", () => {
  test("with keys replace the account's keys", async () => {
    const [src, dest] = [folder(), folder()];
    await put(src, { a: "1" });
    const { accessKeyId, secretAccessKey } = given.s3.credentials;
    const keys = `-Dfs.s3a.access.key=${accessKeyId} -D fs.s3a.secret.key=${secretAccessKey}`;
    const wrong = accountAt(given.s3.endpoint, { accessKeyId: "unknown", secretAccessKey: "wrong" });
    const { end, log } = await copies.run(`${keys} --src ${src} --dest ${dest}`, wrong);
    expect(end).toMatchObject({ failure: null, files: 1, usedAccountKeys: false });
    expect(log.join()).not.toContain(secretAccessKey);
    expect((await copies.run(`--src ${src} --dest ${folder()}`, wrong)).end.failure).toContain("access denied");
    const own = await copies.run(`--src ${src} --dest ${folder()}`);
    expect(own.end.usedAccountKeys).toBe(true);
  });

  test("that set parallelism take effect", async () => {
    const src = putFiles("serial", Object.fromEntries(Array.from({ length: 12 }, (_, at) => [`f${at}`, String(at)])));
    const [one, many] = [await relay(), await relay()];
    const maxConcurrency = ({ requests }: FaultyRelay): number => Math.max(...requests.map(({ inFlight }) => inFlight));
    const args = `--src ${src} --dest`;
    await copies.run(`-Dmapreduce.job.maps=1 ${args} ${folder()}`, accountAt(one.endpoint));
    await copies.run(`${args} ${folder()}`, accountAt(many.endpoint));
    expect(maxConcurrency(one)).toBe(1);
    expect(maxConcurrency(many)).toBeGreaterThan(1);
  });

  test("without an effect are named in the log, and open neither files nor connections", async () => {
    const src = putFiles("generic", { a: "1" });
    const options = `-conf ${src}/missing.xml -fs hdfs://10.1.2.3 -Dmapreduce.job.queuename=q --startingIndex 5`;
    const { end, log } = await copies.run(`${options} --src ${src} --dest ${folder()}`);
    expect(end).toMatchObject({ failure: null, retries: 0 });
    for (const name of ["-conf", "-fs", "mapreduce.job.queuename"]) expect(log).toContain(`${name} has no effect.`);
    expect(log).toContain("--startingIndex has no effect without --numberFiles.");
  });
});
