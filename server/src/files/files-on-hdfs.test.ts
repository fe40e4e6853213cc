import { expect, test } from "vitest";
import { beginUpload, download, FILES, upload } from "../../test/support/file-calls.ts";
import { useSharedServer, type AccountClient } from "../../test/support/given.ts";
import { useMemoryHdfs } from "../../test/support/memory-hdfs.ts";

const given = useSharedServer();
const hdfs = useMemoryHdfs();

async function accountOnHdfs(folder: string): Promise<AccountClient> {
  const account = await given.account();
  const settings = { defloc: `hdfs://namenode.example.com/${folder}`, hdfs_http_address: hdfs.account.address };
  await account.put("/api/v2/accounts", { account: settings });
  return account;
}

test("files of an account on HDFS are uploaded, listed, downloaded and deleted like others", async () => {
  const account = await accountOnHdfs("data");
  for (const path of ["a.x", "a/1", "a/b/2", "c%20d"]) await upload(account, path, "0123456789");
  expect([...hdfs.files.keys()]).toEqual(["/data/a.x", "/data/a/1", "/data/a/b/2", "/data/c d"]);
  const { etag } = (await upload(account, "a/1", "digits")).body;
  expect((await download(account, "a/1")).headers.get("etag")).toBe(`"${etag}"`);
  expect((await download(account, "a.x", { Range: "bytes=3-4" })).text).toBe("34");
  expect((await download(account, "a")).status).toBe(404);
  const page = await account.get(`${FILES}?delimiter=/&per_page=2`);
  expect([page.files, page.prefixes, page.next_after]).toMatchObject([[{ path: "a.x", size: 10 }], ["a/"], "a/"]);
  const next = await account.get(`${FILES}?delimiter=/&per_page=2&after=a/`);
  expect([next.files, next.prefixes, next.next_after]).toMatchObject([[{ path: "c d" }], [], null]);
  expect((await account.delete(`${FILES}/a?recursive=true`)).count).toBe(2);
  expect(await account.delete(`${FILES}/a.x`)).toEqual({ status: "deleted", count: 1 });
  await account.delete(`${FILES}/a.x`).refused(404);
  expect([...hdfs.files.keys()]).toEqual(["/data/c d"]);
});

test("HDFS has no conditional writes, and a broken upload leaves nothing there", async () => {
  const account = await accountOnHdfs("broken");
  await upload(account, "file", "old");
  const refused = await upload(account, "file", "new", { "If-Match": "*" });
  expect([refused.status, refused.body.error.error_message]).toEqual([
    422,
    expect.stringMatching(/^If-Match cannot be used/),
  ]);
  const { request } = beginUpload(account, "file", { "Transfer-Encoding": "chunked" });
  request.write("new");
  const below = (): string[] => [...hdfs.files.keys()].filter((path) => path.startsWith("/broken/"));
  await expect.poll(below).toHaveLength(2);
  request.destroy();
  await expect.poll(below).toEqual(["/broken/file"]);
  expect((await download(account, "file")).text).toBe("old");
});

test("a broken upload removes the folders that were made for it", async () => {
  const account = await accountOnHdfs("folders");
  await upload(account, "old/file", "old");
  const { request } = beginUpload(account, "old/new/er/file", { "Transfer-Encoding": "chunked" });
  request.write("new");
  const below = (): string[] => [...hdfs.files.keys()].filter((path) => path.startsWith("/folders/"));
  await expect.poll(below).toHaveLength(2);
  const deleted: string[] = [];
  hdfs.onRequest = (operation, path) => operation === "DELETE" && deleted.push(path);
  request.destroy();
  const temporary = expect.stringMatching(/^\/folders\/old\/new\/er\/\.put-/);
  await expect.poll(() => deleted).toEqual([temporary, "/folders/old/new/er", "/folders/old/new"]);
  hdfs.onRequest = () => undefined;
});

test("a location with several slashes in a row, as old accounts may have, is that of HDFS without them", async () => {
  const account = await given.account();
  const settings = { defloc: "hdfs://namenode.example.com/slashes", hdfs_http_address: hdfs.account.address };
  await account.put("/api/v2/accounts", { account: settings });
  await given.app.services.db.asSystem((tx) =>
    tx.query("update account set default_location = 'hdfs://nn//slashes//x' where id = $1", [account.accountId]),
  );
  hdfs.put("/slashes/x/a/1", "x");
  const page = await account.get(FILES);
  expect(page.files).toMatchObject([{ path: "a/1" }]);
});
