import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { beginUpload, download, FILES, upload } from "../../test/support/file-calls.ts";
import { useServer, type AccountClient } from "../../test/support/given.ts";

const given = useServer({ settings: { HEADGATE_ACCOUNT_DISK: "16m" } });

const MIB = 1024 * 1024;
const left = (): string[] => readdirSync(join(given.dataDir, "uploads"));
const paths = async (account: AccountClient): Promise<string[]> =>
  (await account.get(FILES)).files.map(({ path }: { path: string }) => path);

test.each([0, 1, 65_536, 3 * MIB])("an upload whose client leaves after %i bytes leaves nothing", async (bytes) => {
  const account = await given.account();
  await upload(account, "old", "old");
  for (const headers of [{ "Content-Length": String(4 * MIB) }, { "Transfer-Encoding": "chunked" }]) {
    for (const path of ["old", "new/folder/file"]) {
      const { request } = beginUpload(account, path, headers);
      request.flushHeaders();
      if (bytes > 0) await new Promise<void>((sent) => void request.write(Buffer.alloc(bytes), () => sent()));
      await vi.waitUntil(() => left().length > 0, { timeout: 45_000 });
      request.destroy();
      await expect.poll(left).toEqual([]);
    }
  }
  expect(await paths(account)).toEqual(["old"]);
  expect(readdirSync(join(given.dataDir, "accounts", String(account.accountId), "storage"))).toEqual(["old"]);
  expect((await download(account, "old")).text).toBe("old");
});

test("an upload is refused before the account reaches its quota, and deleting files makes room", async () => {
  const account = await given.account();
  const body = Buffer.alloc(9 * MIB);
  expect((await upload(account, "one", body)).status).toBe(200);
  for (const headers of [{}, { "Transfer-Encoding": "chunked" }]) {
    const reply = await upload(account, "two", body, headers);
    expect(reply.status, reply.text).toBe(422);
    expect(reply.body.error.error_message).toMatch(/HEADGATE_ACCOUNT_DISK, which is 16m/);
  }
  expect(await paths(account)).toEqual(["one"]);
  expect(left()).toEqual([]);
  await account.delete(`${FILES}/one`);
  await expect.poll(async () => (await upload(account, "two", body)).status).toBe(200);
});

test("uploads in progress count towards the quota", async () => {
  const account = await given.account();
  const { request, answer } = beginUpload(account, "first", { "Content-Length": String(9 * MIB) });
  request.write(Buffer.alloc(MIB));
  await expect.poll(left).toHaveLength(1);
  expect((await upload(account, "second", Buffer.alloc(9 * MIB))).status).toBe(422);
  request.end(Buffer.alloc(8 * MIB));
  expect((await answer).status).toBe(200);
});
