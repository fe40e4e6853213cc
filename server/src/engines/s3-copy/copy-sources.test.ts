import { randomBytes } from "node:crypto";
import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { errorAnswer, type Fault, type RelayedRequest } from "../../../test/seaweedfs/relay.ts";
import { useCopyFolders } from "../../../test/support/copy-folders.ts";

/** Where sources may be, and failures of listings and of outputs in parts. */
const MIB = 1024 * 1024;
const given = useCopyFolders();
const { copies, folder, put, contentsOf, putFiles, filesIn } = given;

const manifestOf = (...files: (readonly [path: string, srcDir: string, size: number])[]): Buffer => {
  const lines = files.map(([path, srcDir, size]) => JSON.stringify({ path, baseName: "x", srcDir, size }));
  return gzipSync(`${lines.join("\n")}\n`);
};

describe("a source that is the destination or lies below it", () => {
  const refusal = /: a source must not be --dest or lie below it; name another --dest\.$/;

  test.each(["", "/", "/below", "/a"])("is refused, and nothing is deleted: DEST%s", async (below) => {
    const dest = folder();
    await put(dest, { a: "1", "below/b": "2" });
    await put(`${dest}-m`, { "m.gz": manifestOf() });
    const files = putFiles("own", { a: "1", "below/b": "2" });
    const manifest = `--previousManifest ${dest}-m/m.gz`;
    for (const location of [dest, files]) {
      const args = `--src ${location}${below} --dest ${location} --deleteOnSuccess ${manifest}`;
      expect((await copies.run(args)).end).toMatchObject({ failure: expect.stringMatching(refusal), isRefused: true });
    }
    expect(await contentsOf(dest)).toEqual({ a: "1", "below/b": "2" });
    expect(filesIn("own")).toEqual({ a: "1", "below/b": "2" });
  });

  test("is refused if a manifest or a file of prefixes names it", async () => {
    const dest = folder();
    await put(dest, { "x/a": "1" });
    await put(`${dest}-m`, { "m.gz": manifestOf([`${dest}/x/a`, dest, 1]), prefixes: `${dest}/x` });
    for (const names of [
      `--copyFromManifest --previousManifest ${dest}-m/m.gz`,
      `--srcPrefixesFile ${dest}-m/prefixes --previousManifest ${dest}-m/none --requirePreviousManifest=false`,
    ]) {
      expect((await copies.run(`--dest ${dest} --deleteOnSuccess ${names}`)).end.failure).toMatch(refusal);
    }
    expect(await contentsOf(dest)).toEqual({ "x/a": "1" });
  });

  test("is refused if its endpoint is another name of the same store, and nothing is deleted", async () => {
    const location = folder();
    await put(location, { "x/a": "1" });
    await put(`${location}-m`, { "m.gz": manifestOf(), "sources.gz": manifestOf([`${location}/x/a`, location, 1]) });
    const { endpoint } = await given.relay();
    const refusal = `${location}/x/a: the endpoints of the source and of the destination are the same store`;
    for (const names of [
      `--src ${location} --dest ${location} --previousManifest ${location}-m/m.gz`,
      `--src ${location}/x --dest ${location} --previousManifest ${location}-m/m.gz`,
      `--src ${location} --dest ${location}/x/below`,
      `--dest ${location} --copyFromManifest --previousManifest ${location}-m/sources.gz`,
    ]) {
      const { end } = await copies.run(`${names} --srcS3Endpoint ${endpoint} --deleteOnSuccess`);
      expect(end).toMatchObject({ failure: expect.stringContaining(refusal), isRefused: true });
    }
    expect(await contentsOf(location)).toEqual({ "x/a": "1" });
  });

  test("is not refused if its endpoint is another store with a bucket of the same name", async () => {
    const location = folder();
    await put(location, { a: "1" });
    const answers = { "last-modified": new Date(0).toUTCString(), etag: '"0"', "content-length": "9" };
    const { endpoint } = await given.relay(({ method, url }) =>
      method === "HEAD" && url.endsWith("/a") ? { kind: "answer", status: 200, headers: answers } : undefined,
    );
    const manifest = `--previousManifest ${location}/none --requirePreviousManifest=false`;
    const args = `--src ${location} --dest ${location} --s3Endpoint ${endpoint} --srcS3Endpoint ${given.s3.endpoint} ${manifest}`;
    expect((await copies.run(args)).end.failure).toBeNull();
  });
});

describe("sources without --src", () => {
  test("may be in another kind of store than the file that names them", async () => {
    const [src, dest] = [folder(), folder()];
    await put(src, { "x/a": "1", "x/b": "2" });
    const lists = putFiles("lists", { "m.gz": manifestOf([`${src}/x/a`, src, 1]), prefixes: `${src}/x` });
    const manifest = `--copyFromManifest --previousManifest ${lists}/m.gz`;
    expect((await copies.run(`--dest ${dest}/1 ${manifest}`)).end.failure).toBeNull();
    expect((await copies.run(`--dest ${dest}/2 --srcPrefixesFile ${lists}/prefixes`)).end.failure).toBeNull();
    expect(await contentsOf(dest)).toEqual({ "1/x/a": "1", "2/a": "1", "2/b": "2" });
  });

  test("must all be in one kind of store", async () => {
    const [src, dest] = [folder(), folder()];
    await put(src, { a: "1" });
    const files = putFiles("mixed", { b: "2" });
    await put(`${src}-m`, { "m.gz": manifestOf([`${src}/a`, src, 1], [`${files}/b`, files, 1]) });
    const { end } = await copies.run(`--dest ${dest} --copyFromManifest --previousManifest ${src}-m/m.gz`);
    expect(end.failure).toBe(`${files}/b: a source in another kind of store than --src or the first source`);
  });

  test("are deleted from all their buckets", async () => {
    const [one, dest, two] = [folder(), folder(), `s3://${await given.s3.bucket()}/x`];
    await put(one, { a: "1" });
    await put(two, { b: "2" });
    await put(`${one}-m`, { "m.gz": manifestOf([`${one}/a`, one, 1], [`${two}/b`, two, 1]) });
    const args = `--copyFromManifest --previousManifest ${one}-m/m.gz --deleteOnSuccess`;
    expect((await copies.run(`--dest ${dest} ${args}`)).end.failure).toBeNull();
    expect([await contentsOf(dest), await contentsOf(one), await contentsOf(two)]).toEqual([
      { a: "1", b: "2" },
      {},
      {},
    ]);
  });
});

test("a listing that fails ends the outputs that are running", async () => {
  const [src, dest] = [folder(), folder()];
  await put(src, Object.fromEntries(Array.from({ length: 20 }, (_, at) => [`a${at}`, ""])));
  await put(src, { "manifest.gz": "not allowed" });
  const never = new Promise<void>(() => undefined);
  let held = 0;
  const { endpoint } = await given.relay(({ headers }) => {
    if (!("x-amz-copy-source" in headers)) return undefined;
    held += 1;
    return { kind: "hold", until: never };
  });
  const args = `--src ${src} --dest ${dest} --outputManifest --filesPerMapper 1`;
  const { end } = await copies.run(args, given.accountAt(endpoint));
  expect(end.failure).toMatch(/the manifest would replace this file/);
  expect(held).toBeGreaterThan(0);
});

describe("outputs of several parts", () => {
  const isCopiedPart = ({ url, headers }: RelayedRequest): boolean =>
    url.includes("partNumber=") && "x-amz-copy-source" in headers;
  const isCompletion = ({ method, url }: RelayedRequest): boolean => method === "POST" && url.includes("uploadId=");

  test("are all read, and counted once, if the store turns out not to copy parts while several are written", async () => {
    const [src, dest] = [folder(), folder()];
    const parts = Object.fromEntries(["a-1", "a-2", "b-1", "b-2"].map((name) => [name, randomBytes(5 * MIB)]));
    await put(src, parts);
    // Some parts are copied before the first one is refused.
    let copied = 0;
    const { endpoint } = await given.relay((request) => {
      if (!isCopiedPart(request)) return undefined;
      copied += 1;
      return copied > 1 ? errorAnswer(501, "NotImplemented") : undefined;
    });
    const args = `--src ${src} --dest ${dest} --groupBy '.*/([ab])-.*' --multipartUploadChunkSize 5`;
    const { end } = await copies.run(args, given.accountAt(endpoint));
    expect(end).toMatchObject({ failure: null, files: 4, bytes: 20 * MIB });
    expect(copied).toBeGreaterThanOrEqual(3);
    for (const group of ["a", "b"]) {
      const whole = Buffer.concat([parts[`${group}-1`], parts[`${group}-2`]].flatMap((part) => part ?? []));
      expect((await given.store.read(`${dest}/${group}`)).bytes.equals(whole)).toBe(true);
    }
    expect(await Array.fromAsync(given.store.openUploads(`${dest}/`))).toEqual([]);
  });

  test("are read without another try with the customer's key if the store does not copy parts", async () => {
    const [src, dest] = [folder(), folder()];
    const parts = [randomBytes(6 * MIB), randomBytes(6 * MIB)];
    await put(src, { "a-1": parts[0] ?? "", "a-2": parts[1] ?? "" });
    const { endpoint } = await given.relay((request) => {
      if (!isCopiedPart(request)) return undefined;
      const hasKey = "x-amz-copy-source-server-side-encryption-customer-key" in request.headers;
      return hasKey ? errorAnswer(400, "InvalidRequest") : errorAnswer(501, "NotImplemented");
    });
    const key = randomBytes(32).toString("base64");
    const options = `--s3ServerSideEncryption --s3SSEAlgorithm SSE-C --encryptionKey ${key}`;
    const args = `--src ${src} --dest ${dest} --groupBy '.*/(a)-.*' --multipartUploadChunkSize 5 ${options}`;
    expect((await copies.run(args, given.accountAt(endpoint))).end.failure).toBeNull();
    const { bytes } = await given.store.read(`${dest}/a`, { customerKey: key });
    expect(bytes.equals(Buffer.concat(parts))).toBe(true);
  });

  const gone: Fault = errorAnswer(404, "NoSuchUpload");
  test("have failed if their upload is gone, even if an object of the same size is there", async () => {
    const large = randomBytes(6 * MIB);
    const [src, dest] = [putFiles("gone", { large }), folder()];
    await put(dest, { large: randomBytes(large.length) });
    await put(`${dest}-m`, { "m.gz": manifestOf() });
    const { endpoint } = await given.relay((request) => (isCompletion(request) ? gone : undefined));
    const args = `--src ${src} --dest ${dest} --previousManifest ${dest}-m/m.gz --multipartUploadChunkSize 5`;
    const { end } = await copies.run(args, given.accountAt(endpoint));
    expect(end.failure).toBe(`${dest}/large: the upload was aborted by another client or rule; copy it again`);
  });

  test("have succeeded if their upload is gone because the answer to its completion was lost", async () => {
    const large = randomBytes(6 * MIB);
    const [src, dest] = [putFiles("lost", { large }), folder()];
    let completions = 0;
    const { endpoint } = await given.relay((request) => {
      if (!isCompletion(request)) return undefined;
      completions += 1;
      return completions === 1 ? { kind: "lost-answer" } : gone;
    });
    const args = `--src ${src} --dest ${dest} --multipartUploadChunkSize 5`;
    expect((await copies.run(args, given.accountAt(endpoint))).end.failure).toBeNull();
    expect((await given.store.read(`${dest}/large`)).bytes.equals(large)).toBe(true);
  });
});

describe("disableMultipartUpload", () => {
  test("sends joined files in one request without a temporary file, again if that fails, and counts them once", async () => {
    const [src, dest, tmp] = [folder(), folder(), putFiles("no-tmp", { "x/y": "" })];
    const parts = { "g-1": randomBytes(6 * MIB), "g-2": randomBytes(6 * MIB) };
    await put(src, parts);
    let puts = 0;
    const { endpoint } = await given.relay(({ method }) => {
      if (method !== "PUT") return undefined;
      puts += 1;
      expect(Object.keys(filesIn("no-tmp"))).toEqual(["x/y"]);
      return puts === 1 ? { kind: "lost-answer" } : undefined;
    });
    const args = `--groupBy '.*/(g)-.*' --disableMultipartUpload --multipartUploadChunkSize 5 --tmpDir ${tmp}`;
    const { end } = await copies.run(`--src ${src} --dest ${dest} ${args}`, given.accountAt(endpoint));
    expect(end).toMatchObject({ failure: null, bytes: 12 * MIB, retries: 1 });
    const { bytes, etag } = await given.store.read(`${dest}/g`);
    expect(bytes.equals(Buffer.concat(Object.values(parts)))).toBe(true);
    expect(etag).not.toContain("-");
  });

  test("fails with the reason if a source changes while it is sent", async () => {
    const [src, dest] = [folder(), folder()];
    await put(src, { "g-1": randomBytes(6 * MIB), "g-2": randomBytes(6 * MIB) });
    const { endpoint } = await given.relay(({ method, headers }) =>
      method === "GET" && headers.range !== undefined ? errorAnswer(412, "PreconditionFailed") : undefined,
    );
    const args = `--groupBy '.*/(g)-.*' --disableMultipartUpload --multipartUploadChunkSize 5`;
    const { end } = await copies.run(`--src ${src} --dest ${dest} ${args}`, given.accountAt(endpoint));
    expect(end.failure).toMatch(/g-[12]: the object has changed while it was copied$/);
    expect(await contentsOf(dest)).toEqual({});
  });
});
