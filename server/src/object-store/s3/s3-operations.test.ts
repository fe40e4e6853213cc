import { createHash, randomBytes } from "node:crypto";
import { ObjectStoreError } from "../object-store-error.ts";
import { describe, expect, test } from "vitest";
import { useS3Stores } from "../../../test/support/s3-stores.ts";
import { faultyRelay } from "../../../test/seaweedfs/relay.ts";
import type { ObjectEncryption } from "./s3-operations.ts";
import { EMPTY_PAYLOAD_HASH, requestSigner } from "./sign-request.ts";

const MiB = 1024 * 1024;
const s3 = useS3Stores();
const { seaweedFs, storeWith, at } = s3;
const attributes = {
  contentType: "text/csv",
  contentEncoding: "identity",
  cacheControl: "no-cache",
  contentDisposition: 'attachment; filename="größe.csv"',
  contentLanguage: "de",
  metadata: { owner: "someone", note: "Ümläut 🎉", spaces: "a  b" },
  storageClass: "STANDARD_IA",
};

describe("an object in memory", () => {
  test("is written with its attributes and a checksum that the store verifies, and read back", async () => {
    const body = Buffer.from("a,b\n");
    const written = await s3.store.write(at("attributes"), body, { attributes });
    expect(written).toEqual({ etag: createHash("md5").update(body).digest("hex"), isVerified: true });
    const read = await s3.store.read(at("attributes"));
    expect(read.bytes.toString()).toBe("a,b\n");
    expect(read).toMatchObject({ size: 4, etag: written.etag, attributes });
    expect(await s3.store.head(at("attributes"))).toMatchObject({ size: 4, etag: written.etag, attributes });
  });

  test("that is damaged on the way is refused", async () => {
    const relay = await faultyRelay(seaweedFs.endpoint, () => ({ kind: "damage" }));
    const damaging = storeWith({ endpoint: relay.endpoint });
    await expect(damaging.write(at("damaged"), Buffer.from("right"))).rejects.toMatchObject({ kind: "bad-request" });
    await relay.close();
    await expect(s3.store.head(at("damaged"))).rejects.toMatchObject({ kind: "missing" });
  });

  test("may be empty or larger than one chunk of the network", async () => {
    for (const size of [0, 1, 64 * 1024, 3 * MiB]) {
      const body = randomBytes(size);
      expect(await s3.store.write(at("sized"), body)).toMatchObject({ isVerified: true });
      const { bytes, size: found } = await s3.store.read(at("sized"));
      expect(found).toBe(size);
      expect(bytes.equals(body)).toBe(true);
    }
  });

  test("is read in part, and not at all if it has changed or is larger than allowed", async () => {
    const { etag } = await s3.store.write(at("range"), Buffer.from("0123456789"));
    const part = await s3.store.read(at("range"), { range: { offset: 2, length: 3 }, ifMatch: etag ?? "" });
    expect([part.bytes.toString(), part.size]).toEqual(["234", 10]);
    expect((await s3.store.read(at("range"), { range: { offset: 8, length: 5 } })).bytes.toString()).toBe("89");
    await expect(s3.store.read(at("range"), { ifMatch: "0".repeat(32) })).rejects.toMatchObject({
      code: "PreconditionFailed",
    });
    await expect(s3.store.read(at("range"), { limitBytes: 9 })).rejects.toMatchObject({ kind: "bad-response" });
  });

  test("cannot have attributes with control characters", async () => {
    for (const metadata of [{ a: "line\nbreak" }, { "a b": "x" }])
      await expect(s3.store.write(at("bad"), Buffer.from("x"), { attributes: { metadata } })).rejects.toMatchObject({
        kind: "bad-request",
      });
  });
});

describe("a server-side copy", () => {
  test.each(["a b", "a+b", "100%25", "a%2Fb", "k=v/ü 🎉", "q?x=1&y#z", "!'()*;:@$,~"])(
    "of the key %j keeps its bytes and its attributes",
    async (name) => {
      const { etag } = await s3.store.write(at(`from/${name}`), Buffer.from(name), { attributes });
      const copied = await s3.store.copy(at(`from/${name}`), at(`to/${name}`), {
        ifMatch: etag ?? "",
        storageClass: attributes.storageClass,
      });
      expect(copied).toEqual({ etag, isVerified: true });
      const read = await s3.store.read(at(`to/${name}`));
      expect(read.bytes.toString()).toBe(name);
      expect(read.attributes).toEqual(attributes);
    },
  );

  test("replaces attributes if they are given", async () => {
    const { etag } = await s3.store.write(at("replaced"), Buffer.from("x"), { attributes });
    await s3.store.copy(at("replaced"), at("replaced-copy"), {
      ifMatch: etag ?? "",
      attributes: { contentType: "text/plain", metadata: { other: "1" } },
      storageClass: "STANDARD",
    });
    const copied = await s3.store.head(at("replaced-copy"));
    expect(copied.attributes.contentType).toBe("text/plain");
    expect(copied.attributes.metadata).toEqual({ other: "1" });
  });

  test("fails if the source has changed or does not exist", async () => {
    await s3.store.write(at("changed"), Buffer.from("x"));
    const options = { ifMatch: "0".repeat(32), storageClass: "STANDARD" };
    await expect(s3.store.copy(at("changed"), at("never"), options)).rejects.toMatchObject({
      code: "PreconditionFailed",
    });
    await expect(s3.store.copy(at("nothing"), at("never"), options)).rejects.toMatchObject({ kind: "missing" });
    await expect(s3.store.head(at("never"))).rejects.toMatchObject({ kind: "missing" });
  });

  test("is possible between stores with the same service and credentials", () => {
    const { endpoint, credentials } = seaweedFs;
    expect(s3.store.sharesService(storeWith({ endpoint: `${endpoint}/`, region: "eu-west-1" }))).toBe(true);
    expect(s3.store.sharesService(storeWith({ endpoint: null }))).toBe(false);
    expect(s3.store.sharesService(storeWith({ credentials: { ...credentials, sessionToken: "x" } }))).toBe(false);
  });
});

describe("an upload in parts", () => {
  test("joins bytes and copied ranges, keeps its attributes, and is open until it is completed", async () => {
    const source = randomBytes(6 * MiB);
    const { etag } = await s3.store.write(at("parts/source"), source);
    const uri = at("parts/joined");
    const upload = { uri, uploadId: await s3.store.createUpload(uri, { attributes }) };
    expect(await Array.fromAsync(s3.store.openUploads(at("parts/")))).toEqual([upload]);
    const range = { offset: MiB, length: 5 * MiB };
    const copied = await s3.store.copyPart(upload, 1, { uri: at("parts/source"), range, ifMatch: etag ?? "" });
    const sent = await s3.store.uploadPart(upload, 2, Buffer.from("the end"));
    expect(sent).toMatchObject({ number: 2, isVerified: true });
    expect(copied).toMatchObject({ number: 1, isVerified: false });
    await expect(s3.store.head(uri)).rejects.toMatchObject({ kind: "missing" });
    const written = await s3.store.completeUpload(upload, [sent, copied]);
    expect(written.isVerified).toBe(false);
    const { bytes, attributes: kept, etag: joinedEtag } = await s3.store.read(uri);
    expect(bytes.equals(Buffer.concat([source.subarray(MiB), Buffer.from("the end")]))).toBe(true);
    expect(joinedEtag).toBe(written.etag);
    expect(kept).toEqual(attributes);
    expect(await Array.fromAsync(s3.store.openUploads(at("parts/")))).toEqual([]);
  });

  test("is verified if each of its parts is", async () => {
    const uri = at("verified");
    const upload = { uri, uploadId: await s3.store.createUpload(uri) };
    const parts = [
      await s3.store.uploadPart(upload, 1, Buffer.alloc(5 * MiB)),
      await s3.store.uploadPart(upload, 2, Buffer.from("x")),
    ];
    expect(await s3.store.completeUpload(upload, parts)).toMatchObject({ isVerified: true });
  });

  test("can be aborted twice, and then has no parts", async () => {
    const uri = at("aborted");
    const upload = { uri, uploadId: await s3.store.createUpload(uri) };
    const part = await s3.store.uploadPart(upload, 1, Buffer.from("x"));
    await s3.store.abortUpload(upload);
    await s3.store.abortUpload(upload);
    expect(await Array.fromAsync(s3.store.openUploads(uri))).toEqual([]);
    await expect(s3.store.completeUpload(upload, [part])).rejects.toMatchObject({ code: "NoSuchUpload" });
  });
});

describe("encryption at rest:", () => {
  const key = randomBytes(32).toString("base64");
  const otherKey = randomBytes(32).toString("base64");
  const customer: ObjectEncryption = { algorithm: "SSE-C", key };

  test.each([
    [{ algorithm: "AES256" }, "AES256"],
    [{ algorithm: "SSE-KMS", keyId: "a-key" }, "aws:kms"],
  ] as const)("%o is applied to objects, copies and uploads", async (encryption, expected) => {
    const { etag } = await s3.store.write(at("sse/source"), Buffer.from("secret"), { encryption });
    await s3.store.copy(at("sse/source"), at("sse/copy"), {
      ifMatch: etag ?? "",
      storageClass: "STANDARD",
      encryption,
    });
    const upload = { uri: at("sse/parts"), uploadId: await s3.store.createUpload(at("sse/parts"), { encryption }) };
    const part = await s3.store.uploadPart(upload, 1, Buffer.from("secret"), { encryption });
    await s3.store.completeUpload(upload, [part], { encryption });
    for (const name of ["source", "copy", "parts"]) {
      expect((await s3.store.read(at(`sse/${name}`))).bytes.toString()).toBe("secret");
      expect(await algorithmOf(`sse/${name}`)).toBe(expected);
    }
  });

  test("a key of the customer is needed to read and copy", async () => {
    const { etag } = await s3.store.write(at("sse-c/source"), Buffer.from("secret"), { encryption: customer });
    expect((await s3.store.read(at("sse-c/source"), { customerKey: key })).bytes.toString()).toBe("secret");
    expect(await s3.store.head(at("sse-c/source"), { customerKey: key })).toMatchObject({ size: 6 });
    for (const options of [{}, { customerKey: otherKey }])
      await expect(s3.store.read(at("sse-c/source"), options)).rejects.toThrow(/refuses|denied/);
    const copying = { ifMatch: etag ?? "", storageClass: "STANDARD", encryption: customer };
    await expect(s3.store.copy(at("sse-c/source"), at("sse-c/copy"), copying)).rejects.toThrow(/refuses|denied/);
    await s3.store.copy(at("sse-c/source"), at("sse-c/copy"), { ...copying, sourceCustomerKey: key });
    await expect(s3.store.read(at("sse-c/copy"))).rejects.toThrow(/refuses|denied/);
    expect((await s3.store.read(at("sse-c/copy"), { customerKey: key })).bytes.toString()).toBe("secret");
  });

  test("a key of the customer encrypts every part", async () => {
    const uri = at("sse-c/parts");
    const first = randomBytes(5 * MiB);
    const upload = { uri, uploadId: await s3.store.createUpload(uri, { encryption: customer }) };
    const parts = [
      await s3.store.uploadPart(upload, 1, first, { encryption: customer }),
      await s3.store.uploadPart(upload, 2, Buffer.from("end"), { encryption: customer }),
    ];
    await s3.store.completeUpload(upload, parts, { encryption: customer });
    await expect(s3.store.read(uri)).rejects.toThrow(/refuses|denied/);
    const { bytes } = await s3.store.read(uri, { customerKey: key });
    expect(bytes.equals(Buffer.concat([first, Buffer.from("end")]))).toBe(true);
  });

  test("requests that SeaweedFS does not support have the headers that S3 requires", async () => {
    const body = "<CopyPartResult><ETag>e</ETag></CopyPartResult>";
    const relay = await faultyRelay(seaweedFs.endpoint, () => ({ kind: "answer", status: 200, body }));
    const recorded = storeWith({ endpoint: relay.endpoint });
    await recorded.write(at("kms"), Buffer.from("x"), { encryption: { algorithm: "SSE-KMS", keyId: null } });
    const source = { uri: at("source"), range: { offset: 5, length: 10 }, ifMatch: "e", customerKey: otherKey };
    await recorded.copyPart({ uri: at("parts"), uploadId: "u" }, 3, source, { encryption: customer });
    const [written, copied] = relay.requests.map(({ headers }) => headers);
    expect(written).toMatchObject({ "x-amz-server-side-encryption": "aws:kms" });
    expect(written).not.toHaveProperty("x-amz-server-side-encryption-aws-kms-key-id");
    expect(copied).toMatchObject({
      "x-amz-copy-source": `/${s3.bucket}/source`,
      "x-amz-copy-source-range": "bytes=5-14",
      "x-amz-copy-source-if-match": '"e"',
      "x-amz-copy-source-server-side-encryption-customer-algorithm": "AES256",
      "x-amz-copy-source-server-side-encryption-customer-key": otherKey,
      "x-amz-copy-source-server-side-encryption-customer-key-md5": md5Of(otherKey),
      "x-amz-server-side-encryption-customer-key": key,
      "x-amz-server-side-encryption-customer-key-md5": md5Of(key),
    });
    await relay.close();
  });

  test("a bucket that requires it refuses objects without it", async () => {
    const strict = await seaweedFs.bucket();
    const condition = { StringNotEquals: { "s3:x-amz-server-side-encryption": "AES256" } };
    const Resource = `arn:aws:s3:::${strict}/*`;
    const statement = { Effect: "Deny", Principal: "*", Action: "s3:PutObject", Resource, Condition: condition };
    await seaweedFs.setBucketPolicy(strict, { Version: "2012-10-17", Statement: [statement] });
    const uri = `s3://${strict}/key`;
    await expect(s3.store.write(uri, Buffer.from("x"))).rejects.toMatchObject({ kind: "denied", code: "AccessDenied" });
    await s3.store.write(uri, Buffer.from("x"), { encryption: { algorithm: "AES256" } });
    expect((await s3.store.read(uri)).bytes.toString()).toBe("x");
  });
});

describe("several objects", () => {
  test("are deleted together, including those that do not exist, and failures are returned", async () => {
    const names = ["a b", "a+b", "<&>\"'", "ü🎉", "tab\tand\r\nlines", "x%2Fy"].map((name) => at(`many/${name}`));
    for (const uri of names.slice(0, 4)) await s3.store.write(uri, Buffer.from("x"));
    await s3.store.write(at("many/kept"), Buffer.from("x"));
    const versions = [...names, at("many/never")].map((uri) => ({ uri, etag: null }));
    expect(await s3.store.deleteObjects(versions)).toEqual([]);
    const left = (await Array.fromAsync(s3.store.list(at("many/")))).map(({ key }) => key);
    expect(left).toEqual(["many/kept"]);
    const reader = storeWith({ credentials: seaweedFs.readOnlyCredentials });
    // SeaweedFS sometimes refuses the whole request and sometimes each object.
    const refused = await reader.deleteObjects([{ uri: at("many/kept"), etag: null }]).then(
      ([failure]) => failure?.code,
      (error: unknown) => (error instanceof ObjectStoreError ? error.code : error),
    );
    expect(refused).toBe("AccessDenied");
    const ofTwoBuckets = [at("a"), "s3://other-bucket/a"].map((uri) => ({ uri, etag: null }));
    await expect(s3.store.deleteObjects(ofTwoBuckets)).rejects.toMatchObject({ kind: "bad-request" });
  });

  test("are deleted only in the given version", async () => {
    const names = ["same", "changed", "same\u0001", "changed\u0001"].map((name) => at(`version/${name}`));
    const versions = await Promise.all(
      names.map(async (uri) => ({ uri, etag: (await s3.store.write(uri, Buffer.from("old"))).etag })),
    );
    const changed = names.filter((uri) => uri.includes("changed"));
    for (const uri of changed) await s3.store.write(uri, Buffer.from("new"));
    const failures = await s3.store.deleteObjects([...versions, { uri: at("version/never"), etag: "0".repeat(32) }]);
    expect(failures.map(({ uri, code }) => `${uri} ${code}`).toSorted()).toEqual(
      changed.map((uri) => `${uri} PreconditionFailed`).toSorted(),
    );
    const left = await Array.fromAsync(s3.store.list(at("version/")));
    expect(left.map(({ uri }) => uri).toSorted()).toEqual(changed.toSorted());
  });

  test("are listed in pages, each exactly once, with their size, time, ETag and storage class", async () => {
    const names = Array.from({ length: 400 }, (_, index) => {
      const hash = createHash("sha256").update(String(index)).digest("hex");
      return `pages/${["", "a/", "a-b/", "b c/ü/"][index % 4]}${hash.slice(0, 6)}`;
    });
    await Promise.all(names.map((name) => s3.store.write(at(name), Buffer.from("xy"))));
    const paged = storeWith({ pageSize: 20 });
    for (const prefix of ["pages/", "pages/a", "pages/b c/"]) {
      const found = (await Array.fromAsync(paged.listPages(at(prefix), { concurrency: 6 }))).flat();
      const expected = names.filter((name) => name.startsWith(prefix));
      expect(found.map(({ key }) => key).toSorted()).toEqual(expected.toSorted());
      const [first] = found;
      expect(first).toMatchObject({
        uri: at(first?.key ?? ""),
        size: 2,
        etag: expect.stringMatching(/^[0-9a-f]{32}$/),
      });
      expect(Math.abs((first?.modifiedMs ?? 0) - Date.now())).toBeLessThan(60_000);
    }
  });
});

async function algorithmOf(key: string): Promise<string | null> {
  const { endpoint, region, credentials } = seaweedFs;
  const { host } = new URL(endpoint);
  const path = `/${s3.bucket}/${key}`;
  const request = { method: "HEAD", path, query: "", headers: { host }, payloadHash: EMPTY_PAYLOAD_HASH };
  const headers = requestSigner(credentials)(request, region, new Date());
  const response = await fetch(`${endpoint}${path}`, { method: "HEAD", headers });
  return response.headers.get("x-amz-server-side-encryption");
}

function md5Of(key: string): string {
  return createHash("md5").update(Buffer.from(key, "base64")).digest("base64");
}
