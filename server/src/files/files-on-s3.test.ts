import { describe, expect, test, vi } from "vitest";
import { beginUpload, download, FILES, upload } from "../../test/support/file-calls.ts";
import { useSharedServer, type AccountClient } from "../../test/support/given.ts";
import { useMemoryS3 } from "../../test/support/memory-s3.ts";
import { useS3Stores } from "../../test/support/s3-stores.ts";
import { storageSettings } from "../../test/seaweedfs/seaweedfs.ts";

const MIB = 1024 * 1024;
const given = useSharedServer();
const s3 = useS3Stores();
/** A store that ignores the conditions of writes. */
const old = useMemoryS3();

async function accountOnS3(folder: string): Promise<AccountClient> {
  const account = await given.account();
  const { credentials, endpoint } = s3.seaweedFs;
  const defloc = `s3://${s3.bucket}/${folder}`;
  await account.put("/api/v2/accounts", { account: { defloc, ...storageSettings(credentials, endpoint) } });
  return account;
}

const paths = (files: { path: string }[]): string[] => files.map(({ path }) => path);

describe("files of an account on S3", () => {
  test("are uploaded in one piece or in parts, and downloaded whole or in ranges", async () => {
    const account = await accountOnS3("sizes/");
    const large = Buffer.alloc(17 * MIB + 1, "0123456789abcdef");
    for (const headers of [{}, { "Transfer-Encoding": "chunked" }]) {
      for (const [path, body] of [
        ["empty", Buffer.alloc(0)],
        ["a b/small", Buffer.from("x")],
        ["large", large],
      ] as const) {
        const { body: stored } = await upload(account, encodeURI(path), body, headers);
        expect(stored).toMatchObject({ path, size: body.length, etag: expect.any(String) });
        const found = await download(account, encodeURI(path));
        expect(found.text === body.toString()).toBe(true);
        expect(found.headers.get("etag")).toBe(`"${stored.etag}"`);
        const head = await s3.store.stat(s3.at(`sizes/${path}`));
        expect([head.size, `${head.modifiedAt.toISOString().slice(0, 19)}Z`]).toEqual([body.length, stored.updated_at]);
      }
    }
    expect((await download(account, "large", { Range: "bytes=-17" })).text).toBe("0123456789abcdef0");
    expect((await download(account, "empty", { Range: "bytes=0-" })).status).toBe(416);
    expect((await download(account, "none")).status).toBe(404);
    expect((await account.get("/api/v2/accounts")).storage_validated).toBe(true);
  });

  test("are listed with the store's own delimiter, and deleted below a folder", async () => {
    const account = await accountOnS3("list");
    const names = ["a/1", "a/2", "a/b/3", "c", "d/e/4"];
    for (const name of names) await upload(account, name, "x");
    await s3.store.put(s3.at("beside"), Buffer.from("x"));
    await s3.store.put(s3.at("list/marker/"), Buffer.alloc(0));
    await s3.store.put(s3.at("list/.put-0123456789abcdef"), Buffer.alloc(0));
    const all = [];
    for (let after = "", more = true; more;) {
      const page = await account.get(`${FILES}?per_page=2&after=${after}`);
      all.push(...paths(page.files));
      more = page.next_after !== null;
      after = page.next_after;
    }
    expect(all).toEqual(names);
    const top = await account.get(`${FILES}?delimiter=/`);
    expect([paths(top.files), top.prefixes, top.next_after]).toEqual([["c"], ["a/", "d/", "marker/"], null]);
    const next = await account.get(`${FILES}?delimiter=/&after=a/&per_page=1`);
    expect([paths(next.files), next.prefixes]).toEqual([["c"], []]);
    const inside = await account.get(`${FILES}?delimiter=/&prefix=a/`);
    expect([paths(inside.files), inside.prefixes]).toEqual([["a/1", "a/2"], ["a/b/"]]);
    await s3.store.put(s3.at("list/a/.put-0123456789abcdef"), Buffer.alloc(0));
    expect(await account.delete(`${FILES}/a?recursive=true`)).toEqual({ status: "deleted", count: 4, has_more: false });
    expect(await account.delete(`${FILES}/c`)).toEqual({ status: "deleted", count: 1 });
    expect(paths((await account.get(FILES)).files)).toEqual(["d/e/4"]);
    expect((await s3.store.stat(s3.at("beside"))).size).toBe(1);
  });

  test("are replaced only under the condition, which the store checks itself", async () => {
    const account = await accountOnS3("conditions");
    for (const size of [1, 11 * MIB]) {
      const path = `file-${size}`;
      expect((await upload(account, path, "x", { "If-Match": "*" })).status).toBe(412);
      const { etag } = (await upload(account, path, "first")).body;
      const replies = await Promise.all(
        [1, 2, 3].map((each) => upload(account, path, Buffer.alloc(size, each), { "If-Match": `"${etag}"` })),
      );
      expect(replies.map(({ status }) => status).toSorted((one, other) => one - other)).toEqual([200, 412, 412]);
      expect((await upload(account, path, "any", { "If-Match": "*" })).status).toBe(200);
      expect((await download(account, path)).text).toBe("any");
    }
    expect(await Array.fromAsync(s3.store.openUploads(s3.at("")))).toEqual([]);
  });

  test.each([1, 12 * MIB])("are not there if the client leaves after %i bytes", async (bytes) => {
    const account = await accountOnS3(`broken-${bytes}`);
    const { request } = beginUpload(account, "file", { "Content-Length": String(20 * MIB) });
    await new Promise<void>((sent) => void request.write(Buffer.alloc(bytes), () => sent()));
    const open = async () => (await Array.fromAsync(s3.store.openUploads(s3.at(`broken-${bytes}`)))).length;
    if (bytes > 10 * MIB) await vi.waitUntil(async () => (await open()) === 1, { timeout: 45_000 });
    request.destroy();
    await expect.poll(open).toBe(0);
    await upload(account, "later", "x");
    expect(paths((await account.get(FILES)).files)).toEqual(["later"]);
  });

  test("are refused before they arrive if they are too large", async () => {
    const account = await accountOnS3("huge");
    const { request, answer } = beginUpload(account, "file", { "Content-Length": String(1e15) });
    request.flushHeaders();
    const { status, text } = await answer;
    request.destroy();
    expect([status, text]).toEqual([413, expect.stringContaining("at most 312 GiB")]);
  });

  test("share the memory of the account's uploads", async () => {
    const account = await accountOnS3("memory");
    const begun: ReturnType<typeof beginUpload>["request"][] = [];
    const begin = (): void => {
      const { request } = beginUpload(account, `file-${begun.length}`, { "Content-Length": String(20 * MIB) });
      request.write("x");
      begun.push(request);
    };
    const chunked = () => upload(account, "chunked", "x", { "Transfer-Encoding": "chunked" });
    const another = async (): Promise<number> => {
      begin();
      return (await chunked()).status;
    };
    await expect.poll(another, { timeout: 30_000 }).toBe(429);
    expect((await chunked()).text).toContain("too many uploads to S3");
    expect((await upload(account, "small", "x")).status).toBe(200);
    for (const request of begun) request.destroy();
    await expect.poll(async () => (await chunked()).status, { timeout: 30_000 }).toBe(200);
  });
});

test("a store that ignores conditions is not used with them: the file stays as it was", async () => {
  const account = await given.account();
  const { credentials, endpoint } = old.account;
  await account.put("/api/v2/accounts", {
    account: { defloc: "s3://bucket", ...storageSettings(credentials, endpoint) },
  });
  const first = await upload(account, "file", "first");
  expect(first.status, first.text).toBe(200);
  const { etag } = first.body;
  for (const condition of [`"${etag}"`, "*"]) {
    const reply = await upload(account, "file", "second", { "If-Match": condition });
    expect(reply.status, reply.text).toBe(422);
    expect(reply.body.error.error_message).toMatch(/^If-Match cannot be used/);
  }
  expect([...old.objects]).toEqual([["file", "first"]]);
});

test("a storage that cannot be used is refused, and one that is away is 503", async () => {
  const account = await given.account();
  await account.put("/api/v2/accounts", { account: { defloc: "s3://bucket/x" } });
  expect((await upload(account, "file", "x")).body.error.error_message).toMatch(/has no keys for S3/);
  const { credentials, readOnlyCredentials, endpoint } = s3.seaweedFs;
  const use = (keys: typeof credentials, at: string) =>
    account.put("/api/v2/accounts", { account: { defloc: `s3://${s3.bucket}/x`, ...storageSettings(keys, at) } });
  await use(readOnlyCredentials, endpoint);
  expect((await upload(account, "file", "x")).status).toBe(422);
  await use(credentials, "http://127.0.0.1:9");
  const away = await upload(account, "file", "x");
  expect([away.status, away.headers.get("retry-after")]).toEqual([503, "10"]);
});
