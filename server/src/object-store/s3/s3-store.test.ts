import { createHash } from "node:crypto";
import { once } from "node:events";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { crc32 } from "node:zlib";
import { describe, expect, test } from "vitest";
import { useS3Stores } from "../../../test/support/s3-stores.ts";
import { liveBytes } from "../../../test/memory/live-memory.ts";
import { getText, type ObjectEntry } from "../object-store.ts";

const MiB = 1024 * 1024;
const s3 = useS3Stores();
const { seaweedFs, storeWith, at } = s3;

describe("an object", () => {
  test("is read back as it was written, with any S3 scheme", async () => {
    await s3.store.put(at("plain.txt"), Buffer.from("hello"), { contentType: "text/plain" });
    const { body, size, modifiedAt, etag } = await s3.store.get(`s3a://${s3.bucket}/plain.txt`);
    expect((await buffer(body)).toString()).toBe("hello");
    expect(size).toBe(5);
    expect(etag).toBe(createHash("md5").update("hello").digest("hex"));
    expect(Math.abs(Date.now() - modifiedAt.getTime())).toBeLessThan(60_000);
    expect(await s3.store.stat(at("plain.txt"))).toEqual({ size, modifiedAt, etag });
  });

  test.each(["with space", "a+b", "100%25", "ünï/🎉.txt", "q?x=1&y#z", "!'()*;:@$,=~", "<&>\"'"])(
    "is found and listed under the key %j",
    async (name) => {
      const key = `odd/${name}`;
      await s3.store.put(at(key), Buffer.from(name));
      expect(await getText(s3.store, at(key), 100)).toBe(name);
      expect((await all(s3.store.list(at(key)))).map((entry) => entry.key)).toEqual([key]);
      await s3.store.delete(at(key));
      await expect(s3.store.stat(at(key))).rejects.toMatchObject({ kind: "missing" });
    },
  );

  test("may be empty", async () => {
    await s3.store.put(at("empty"), Readable.from([]));
    expect(await getText(s3.store, at("empty"), 0)).toBe("");
  });

  test("can be read in part, and a range after its end is an error", async () => {
    await s3.store.put(at("range"), Buffer.from("0123456789"));
    const middle = await s3.store.get(at("range"), { range: { offset: 2, length: 3 } });
    expect((await buffer(middle.body)).toString()).toBe("234");
    expect(middle.size).toBe(10);
    const end = await s3.store.get(at("range"), { range: { offset: 7 } });
    expect((await buffer(end.body)).toString()).toBe("789");
    await expect(s3.store.get(at("range"), { range: { offset: 10 } })).rejects.toMatchObject({ kind: "bad-range" });
  });

  test("can be deleted twice", async () => {
    await s3.store.put(at("gone"), Buffer.from("x"));
    await s3.store.delete(at("gone"));
    await s3.store.delete(at("gone"));
    await expect(s3.store.get(at("gone"))).rejects.toMatchObject({ kind: "missing", code: "NoSuchKey" });
  });
});

describe("a text", () => {
  test("of exactly the limit is read, one byte more is too large", async () => {
    await s3.store.put(at("text"), Buffer.from("12345"));
    expect(await getText(s3.store, at("text"), 5)).toBe("12345");
    await expect(getText(s3.store, at("text"), 4)).rejects.toMatchObject({ kind: "too-large" });
  });

  test("that is not UTF-8 is an error, and a byte order mark is removed", async () => {
    await s3.store.put(at("latin1"), Buffer.from([0x66, 0xfc]));
    await expect(getText(s3.store, at("latin1"), 5)).rejects.toMatchObject({ kind: "not-text" });
    await s3.store.put(at("bom"), Buffer.from("\uFEFFselect 1"));
    expect(await getText(s3.store, at("bom"), 50)).toBe("select 1");
  });
});

describe("a listing", () => {
  test("spans pages in byte order and respects maxKeys and after", async () => {
    const keys = ["a-x", "a1/1", "a1/2", "a2", "b", "Z", "é"].map((name) => `list/${name}`);
    await Promise.all(keys.map((key) => s3.store.put(at(key), Buffer.from(key))));
    const sorted = keys.toSorted((a, b) => Buffer.from(a).compare(Buffer.from(b)));
    const paged = storeWith({ pageSize: 2 });
    const entries = await all(paged.list(at("list/")));
    expect(entries.map(({ key }) => key)).toEqual(sorted);
    expect(entries[0]).toMatchObject({ uri: at("list/Z"), size: 6 });
    expect((await all(paged.list(at("list/a"), { maxKeys: 3 }))).map(({ key }) => key)).toEqual(sorted.slice(1, 4));
    expect((await all(paged.list(at("list/"), { after: "list/a1/1" }))).map(({ key }) => key)).toEqual(sorted.slice(3));
    expect(await all(paged.list(at("nothing/here")))).toEqual([]);
  });

  test("has all keys of several pages", async () => {
    const names = Array.from({ length: 120 }, (_, index) => `many/${String(index).padStart(5, "0")}`);
    await Promise.all(names.map((name) => s3.store.put(at(name), Buffer.from("x"))));
    expect((await all(storeWith({ pageSize: 7 }).list(at("many/")))).map(({ key }) => key)).toEqual(names);
    expect((await all(s3.store.list(at("many/"), { maxKeys: 100 }))).map(({ key }) => key)).toEqual(
      names.slice(0, 100),
    );
  });
});

describe("a folder", () => {
  test("lists its direct entries over several pages, and nothing if it does not exist", async () => {
    const keys = ["d=1/x", "d=1/y/z", "d=a b%2F/x", "d=é/x", "_SUCCESS"].map((name) => `folder/${name}`);
    await Promise.all([...keys, "folders/x"].map((key) => s3.store.put(at(key), Buffer.from("x"))));
    for (const uri of [at("folder"), at("folder/")]) {
      const found = await Array.fromAsync(storeWith({ pageSize: 2 }).folder(uri));
      expect(found.toSorted((one, other) => (one.name < other.name ? -1 : 1))).toEqual([
        { kind: "file", name: "_SUCCESS", uri: at("folder/_SUCCESS"), modifiedAt: expect.any(Date) },
        { kind: "folder", name: "d=1", uri: at("folder/d=1"), modifiedAt: null },
        { kind: "folder", name: "d=a b%2F", uri: at("folder/d=a b%2F"), modifiedAt: null },
        { kind: "folder", name: "d=é", uri: at("folder/d=é"), modifiedAt: null },
      ]);
    }
    expect(await Array.fromAsync(s3.store.folder(at("fold")))).toEqual([]);
  });
});

describe("a large object", () => {
  test("is written in parts and read back in constant memory", async () => {
    const streaming = storeWith({ partSizeBytes: 5 * MiB });
    const block = Buffer.alloc(MiB, "headgate");
    let written = 0;
    const before = liveBytes();
    let most = 0;
    const look = (): void => {
      most = Math.max(most, liveBytes());
    };
    async function* produce(): AsyncGenerator<Buffer> {
      for (let index = 0; index < 150; index += 1) {
        const chunk = Buffer.from(block);
        chunk.writeUInt32BE(index);
        written = crc32(chunk, written);
        if (index % 20 === 19) look();
        yield chunk;
      }
    }
    await streaming.put(at("large"), Readable.from(produce(), { objectMode: false }));
    const { body, size, etag } = await streaming.get(at("large"));
    let read = 0;
    let chunks = 0;
    for await (const chunk of body as AsyncIterable<Buffer>) {
      read = crc32(chunk, read);
      if (chunks++ % 500 === 0) look();
    }
    expect(size).toBe(150 * MiB);
    expect(etag).toMatch(/-19$/);
    expect(read).toBe(written);
    expect(most - before).toBeLessThan(80 * MiB);
  });

  test("whose source fails is not stored, and neither are its parts", async () => {
    async function* broken(): AsyncGenerator<Buffer> {
      for (let index = 0; index < 12; index += 1) yield Buffer.alloc(MiB);
      throw new Error("the source broke");
    }
    const put = storeWith({ partSizeBytes: 5 * MiB }).put(at("broken"), Readable.from(broken()));
    await expect(put).rejects.toThrow("the source broke");
    await expect(s3.store.stat(at("broken"))).rejects.toMatchObject({ kind: "missing" });
    expect(await Array.fromAsync(s3.store.openUploads(at("broken")))).toEqual([]);
  });

  test("can be abandoned by its reader or a signal, which closes its connection", async () => {
    const narrow = storeWith({ maxConnections: 1 });
    const first = await narrow.get(at("large"));
    first.body.destroy(); // unread
    const second = await narrow.get(at("large"));
    await once(second.body, "readable");
    second.body.destroy();
    const controller = new AbortController();
    const third = await narrow.get(at("large"), { signal: controller.signal });
    const reading = buffer(third.body);
    controller.abort(new Error("enough"));
    await expect(reading).rejects.toThrow("enough");
    expect(await narrow.stat(at("large"))).toMatchObject({ size: 150 * MiB });
  });

  test("is not stored if a signal aborts it while its source is silent", async () => {
    const controller = new AbortController();
    const put = s3.store.put(at("silent"), new Readable({ read: () => undefined }), { signal: controller.signal });
    controller.abort(new Error("enough"));
    await expect(put).rejects.toThrow("enough");
  });
});

describe("errors of the store:", () => {
  test.each([
    ["a wrong secret", { accessKeyId: "test-access-key", secretAccessKey: "wrong-secret" }],
    ["an unknown key", { accessKeyId: "unknown", secretAccessKey: "wrong-secret" }],
  ])("%s is denied, and the message does not contain it", async (_, credentials) => {
    const unauthorised = storeWith({ credentials });
    for (const call of [
      () => unauthorised.get(at("plain.txt")),
      () => unauthorised.stat(at("plain.txt")),
      () => unauthorised.put(at("plain.txt"), Buffer.from("x")),
      () => unauthorised.delete(at("plain.txt")),
      () => all(unauthorised.list(at(""))),
    ]) {
      const error = await call().then(
        () => undefined,
        (reason: unknown) => reason as Error,
      );
      expect(error).toMatchObject({ kind: "denied" });
      expect(`${error?.message} ${JSON.stringify(error)}`).not.toContain("wrong-secret");
    }
  });

  test("read-only credentials are denied a write", async () => {
    const reader = storeWith({ credentials: seaweedFs.readOnlyCredentials });
    await s3.store.put(at("readable"), Buffer.from("x"));
    expect(await getText(reader, at("readable"), 9)).toBe("x");
    await expect(reader.put(at("readable"), Buffer.from("y"))).rejects.toMatchObject({ kind: "denied" });
  });

  test("a missing bucket is reported by every call", async () => {
    const there = "s3://no-such-bucket-here/key";
    for (const call of [
      () => s3.store.get(there),
      () => s3.store.stat(there),
      () => all(s3.store.list(there)),
      () => s3.store.delete(there),
    ]) {
      await expect(call()).rejects.toMatchObject({ kind: "missing" });
    }
  });

  test("URIs of other schemes and of whole buckets are rejected", async () => {
    for (const uri of ["file:///etc/passwd", "hdfs://host/x", `s3://${s3.bucket}`, `s3://${s3.bucket}/`]) {
      await expect(s3.store.get(uri)).rejects.toMatchObject({ kind: "bad-uri" });
    }
  });
});

async function all(entries: AsyncIterable<ObjectEntry>): Promise<ObjectEntry[]> {
  return Array.fromAsync(entries);
}
