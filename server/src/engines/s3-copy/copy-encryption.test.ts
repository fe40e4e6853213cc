import { randomBytes } from "node:crypto";
import { describe, expect, test } from "vitest";
import { useCopyFolders } from "../../../test/support/copy-folders.ts";

const MIB = 1024 * 1024;
const given = useCopyFolders();
const { copies, folder, put, contentsOf, putFiles, filesIn, relay, accountAt } = given;

describe("encryption", () => {
  const key = randomBytes(32).toString("base64");

  test("with a customer's key: the copy cannot be read without the key, and can be copied again with it", async () => {
    const large = randomBytes(11 * MIB);
    const src = putFiles("secret", { small: "secret", large });
    const [dest, back] = [folder(), folder()];
    const options = `--s3ServerSideEncryption --s3SSEAlgorithm SSE-C --encryptionKey ${key} --multipartUploadChunkSize 5`;
    expect((await copies.run(`--src ${src} --dest ${dest} ${options}`)).end.failure).toBeNull();
    await expect(given.store.read(`${dest}/small`)).rejects.toThrow(/refuses the request|denied/);
    await expect(given.store.read(`${dest}/large`)).rejects.toThrow(/refuses the request|denied/);
    const found = await given.store.read(`${dest}/large`, { customerKey: key });
    expect(found.bytes.equals(large)).toBe(true);
    expect((await copies.run(`--src ${dest} --dest ${back} ${options}`)).end.failure).toBeNull();
    expect((await given.store.read(`${back}/small`, { customerKey: key })).bytes.toString()).toBe("secret");
    const keyless = await copies.run(`--src ${dest} --dest ${folder()}`);
    expect(keyless.end.failure).toMatch(/\/(small|large): .*(refuses the request|denied)/);
  });

  test("joins members that the store cannot copy as parts, as SeaweedFS cannot with a customer's key", async () => {
    const parts = [randomBytes(6 * MIB), randomBytes(7 * MIB)];
    const src = putFiles("secret-parts", Object.fromEntries(parts.map((bytes, at) => [`part-${at}`, bytes])));
    const [there, dest] = [folder(), folder()];
    const options = `--s3ServerSideEncryption --s3SSEAlgorithm SSE-C --encryptionKey ${key}`;
    expect((await copies.run(`--src ${src} --dest ${there} ${options}`)).end.failure).toBeNull();
    const joined = await copies.run(
      `--src ${there} --dest ${dest} --groupBy '.*/(part)-.*' --multipartUploadChunkSize 5 ${options}`,
    );
    expect(joined.end.failure).toBeNull();
    const { bytes } = await given.store.read(`${dest}/part`, { customerKey: key });
    expect(bytes.equals(Buffer.concat(parts))).toBe(true);
    expect(await Array.fromAsync(given.store.openUploads(`${dest}/`))).toEqual([]);
  });

  const parts = `--multipartUploadChunkSize 5`;
  test.each([
    ["", "AES256", undefined],
    ["--s3SSEAlgorithm AES256", "AES256", undefined],
    ["--s3SSEAlgorithm SSE-KMS --encryptionKey alias", "aws:kms", "alias"], // SeaweedFS has no default key
  ])("with keys of the store is requested for every object: %s", async (options, algorithm, keyId) => {
    const src = putFiles("plain", { a: "1", large: Buffer.alloc(6 * MIB) });
    const [dest, inside] = [folder(), folder()];
    const { endpoint, requests } = await relay();
    const encrypted = `--s3ServerSideEncryption ${options} ${parts}`;
    const up = await copies.run(`--src ${src} --dest ${dest} ${encrypted}`, accountAt(endpoint));
    const across = await copies.run(`--src ${dest} --dest ${inside} ${encrypted}`, accountAt(endpoint));
    expect([up.end.failure, across.end.failure]).toEqual([null, null]);
    const creating = requests.filter(({ method, url }) =>
      method === "PUT" ? !url.includes("partNumber") : method === "POST" && url.includes("?uploads"),
    );
    expect(creating).toHaveLength(4);
    for (const { headers } of creating) {
      expect(headers["x-amz-server-side-encryption"]).toBe(algorithm);
      expect(headers["x-amz-server-side-encryption-aws-kms-key-id"]).toBe(keyId);
    }
    expect((await contentsOf(inside)).a).toBe("1");
  });

  test("with a customer's key sends the key for sources only if they need it", async () => {
    const [src, dest, mixed] = [folder(), folder(), folder()];
    await put(src, { "plain-1": "1", "plain-2": "2" });
    const { endpoint, requests } = await relay();
    const args = `--s3ServerSideEncryption --s3SSEAlgorithm SSE-C --encryptionKey ${key} --dest`;
    expect((await copies.run(`--src ${src} ${args} ${dest}`, accountAt(endpoint))).end.failure).toBeNull();
    const ofSource = "x-amz-copy-source-server-side-encryption-customer-key";
    expect(requests.filter(({ headers }) => headers["x-amz-copy-source"] !== undefined)).toHaveLength(2);
    expect(requests.filter(({ headers }) => headers[ofSource] !== undefined)).toEqual([]);
    for (const name of ["secret-1", "secret-2"]) {
      await given.store.write(`${src}/${name}`, Buffer.from(name), { encryption: { algorithm: "SSE-C", key } });
    }
    expect((await copies.run(`--src ${src} ${args} ${mixed}`)).end).toMatchObject({ failure: null, files: 4 });
    for (const [name, text] of [
      ["plain-1", "1"],
      ["secret-2", "secret-2"],
    ] as const) {
      expect((await given.store.read(`${mixed}/${name}`, { customerKey: key })).bytes.toString()).toBe(text);
    }
  });

  test("reads sources that are encrypted with a customer's key into files", async () => {
    const src = folder();
    await given.store.write(`${src}/a`, Buffer.from("1"), { encryption: { algorithm: "SSE-C", key } });
    const options = `--s3SSEAlgorithm SSE-C --encryptionKey ${key} --dest file://${copies.files}/decrypted`;
    expect((await copies.run(`--src ${src} ${options}`)).end.failure).toBeNull();
    expect(filesIn("decrypted")).toEqual({ a: "1" });
  });

  test.each([
    ["is missing", "", "--s3SSEAlgorithm SSE-C needs --encryptionKey: 32 bytes in base64."],
    [
      "is too short",
      "--encryptionKey c2hvcnQ=",
      "--encryptionKey must be 32 bytes in base64 (44 characters) for SSE-C.",
    ],
  ])("with a customer's key fails before the first request if the key %s", async (_what, option, message) => {
    const { endpoint, requests } = await relay();
    const args = `--src ${folder()} --dest ${folder()} --s3ServerSideEncryption --s3SSEAlgorithm SSE-C ${option}`;
    const { end, log } = await copies.run(args, accountAt(endpoint));
    expect(end).toMatchObject({ failure: message, isRefused: true });
    expect(requests).toEqual([]);
    expect(log.join()).not.toContain("c2hvcnQ=");
  });

  test("without TLS fails before the first request, unless on loopback", async () => {
    const [src, dest] = [putFiles("plain", { a: "1" }), folder()];
    const args = `--src ${src} --dest ${dest} --s3ServerSideEncryption --s3Endpoint http://192.0.2.1:9`;
    const { end } = await copies.run(args, { allowedNetworks: ["0.0.0.0/0"] });
    expect(end.failure).toMatch(/^s3ServerSideEncryption needs an https endpoint/);
    expect(end.retries).toBe(0);
  });

  test("is required by some buckets: a copy without it fails with the store's reason", async () => {
    const strict = await given.s3.bucket();
    const Condition = { StringNotEquals: { "s3:x-amz-server-side-encryption": "AES256" } };
    const Resource = `arn:aws:s3:::${strict}/*`;
    const statement = { Effect: "Deny", Principal: "*", Action: "s3:PutObject", Resource, Condition };
    await given.s3.setBucketPolicy(strict, { Version: "2012-10-17", Statement: [statement] });
    const src = putFiles("unencrypted", { a: "1" });
    const args = `--src ${src} --dest s3://${strict}/x`;
    const { end } = await copies.run(args);
    expect(end.failure).toBe(`s3://${strict}/x/a: access denied (403 AccessDenied)`);
    expect((await copies.run(`${args} --s3ServerSideEncryption`)).end.failure).toBeNull();
    expect(await contentsOf(`s3://${strict}/x`)).toEqual({ a: "1" });
  });

  test("never shows its key, neither in the log nor in the report", async () => {
    const src = putFiles("silent", { a: "1" });
    const args = `--s3SSEAlgorithm SSE-C --encryptionKey ${key} --src ${src} --dest ${folder()}`;
    for (const more of ["", "--oops", "--multipartUploadChunkSize x", "--srcPattern ("]) {
      expect(JSON.stringify(await copies.run(`${args} ${more}`))).not.toContain(key);
    }
  });
});
