import { execFileSync } from "node:child_process";
import {
  linkSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { beginUpload, download, FILES, upload } from "../../test/support/file-calls.ts";
import { useSharedServer, type AccountClient } from "../../test/support/given.ts";

/** What programs of the account can do in its storage folder, which is theirs. */
const given = useSharedServer();

interface Attacked {
  readonly account: AccountClient;
  readonly storage: string;
  /** A folder beside the storage, with the file `secret`. */
  readonly outside: string;
}

async function attacked(): Promise<Attacked> {
  const account = await given.account();
  await upload(account, "folder/file", "own");
  const storage = join(given.dataDir, "accounts", String(account.accountId), "storage");
  const outside = join(storage, "../outside");
  mkdirSync(outside);
  writeFileSync(join(outside, "secret"), "secret");
  return { account, storage, outside };
}

const unchanged = ({ outside }: Attacked): void => {
  expect(readdirSync(outside)).toEqual(["secret"]);
  expect(readFileSync(join(outside, "secret"), "utf8")).toBe("secret");
};

describe("a link in the storage", () => {
  test("to a file is neither read nor followed by an upload or a deletion", async () => {
    const world = await attacked();
    const { account, storage, outside } = world;
    symlinkSync(join(outside, "secret"), join(storage, "link"));
    symlinkSync(join(outside, "new"), join(storage, "dangling"));
    const read = await download(account, "link");
    expect([read.status, read.text.includes("secret\n")]).toEqual([422, false]);
    expect((await account.get(FILES)).files).toMatchObject([{ path: "folder/file" }]);
    for (const path of ["link", "dangling"]) expect((await upload(account, path, "mine")).status).toBe(200);
    expect((await download(account, "link")).text).toBe("mine");
    unchanged(world);
  });

  test("to a folder is not entered", async () => {
    const world = await attacked();
    const { account, storage, outside } = world;
    symlinkSync(outside, join(storage, "way"));
    symlinkSync(outside, join(storage, "folder/way"));
    for (const path of ["way/secret", "folder/way/secret", "way/new/file"]) {
      expect((await download(account, path)).status).toBe(422);
      expect((await upload(account, path, "planted")).status).toBe(422);
      await account.delete(`${FILES}/${path}`).refused(422, /^path .*links are not followed/);
    }
    expect((await account.get(`${FILES}?prefix=way/`)).files).toEqual([]);
    expect((await account.delete(`${FILES}/folder?recursive=true`)).count).toBe(2); // the link, too
    await account.delete(`${FILES}/way?recursive=true`).refused(422, /links are not followed/);
    expect(await account.delete(`${FILES}/way`)).toEqual({ status: "deleted", count: 1 });
    expect(readdirSync(storage)).toEqual([]);
    unchanged(world);
  });

  test("to the contents of a file outside is replaced, not written through", async () => {
    const world = await attacked();
    linkSync(join(world.outside, "secret"), join(world.storage, "hard"));
    expect((await upload(world.account, "hard", "mine")).status).toBe(200);
    unchanged(world);
  });
});

test("what is no file is not opened: a pipe does not block the server", async () => {
  const { account, storage } = await attacked();
  execFileSync("mkfifo", [join(storage, "pipe")]);
  expect((await download(account, "pipe")).status).toBe(422);
  expect((await account.get(FILES)).files).toMatchObject([{ path: "folder/file" }]);
  expect((await upload(account, "pipe", "now a file")).status).toBe(200);
});

test("a folder is deleted with everything that programs can make in it", async () => {
  const world = await attacked();
  const { account, storage, outside } = world;
  const folder = join(storage, "folder");
  for (const target of [outside, join(outside, "secret"), "nowhere"]) {
    symlinkSync(target, join(folder, `link ${target.length}`));
  }
  execFileSync("mkfifo", [join(folder, "pipe")]);
  writeFileSync(join(folder, ".put-0123456789abcdef"), "");
  mkdirSync(join(folder, ".put-fedcba9876543210/empty/folders"), { recursive: true });
  const count = 6; // the file, three links, the pipe and the one with a reserved name
  const deleted = await account.delete(`${FILES}/folder?recursive=true`);
  expect(deleted).toEqual({ status: "deleted", count, has_more: false });
  expect(readdirSync(storage)).toEqual([]);
  unchanged(world);
});

test("links, pipes and files with reserved names are deleted one by one", async () => {
  const world = await attacked();
  const { account, storage, outside } = world;
  symlinkSync(join(outside, "secret"), join(storage, "link"));
  execFileSync("mkfifo", [join(storage, "pipe")]);
  writeFileSync(join(storage, ".put-0123456789abcdef"), "");
  for (const path of ["link", "pipe", ".put-0123456789abcdef"]) {
    expect(await account.delete(`${FILES}/${path}`)).toEqual({ status: "deleted", count: 1 });
  }
  expect(readdirSync(storage)).toEqual(["folder"]);
  unchanged(world);
});

test("a folder that cannot be deleted completely is named", async () => {
  const { account, storage } = await attacked();
  const deep = Array.from({ length: 258 }, () => "d").join("/");
  mkdirSync(join(storage, "folder", deep), { recursive: true });
  await account.delete(`${FILES}/folder?recursive=true`).refused(422, /^path .*"folder\/d.* 256 folders below/);
  await account.delete(`${FILES}/folder/${deep.slice(0, 20)}d?recursive=true`).reply();
  await account.delete(`${FILES}/folder?recursive=true`);
  expect(readdirSync(storage)).toEqual([]);
  writeFileSync(Buffer.concat([Buffer.from(`${storage}/`), Buffer.from([0xff])]), "");
  mkdirSync(join(storage, "odd"));
  writeFileSync(Buffer.concat([Buffer.from(`${storage}/odd/`), Buffer.from([0xff])]), "");
  await account.delete(`${FILES}/odd?recursive=true`).refused(422, /^path .*not UTF-8/);
});

test.each(["a link", "a file", "nothing"])("a folder that becomes %s during an upload leads nowhere", async (what) => {
  const world = await attacked();
  const { account, storage, outside } = world;
  const { request, answer } = beginUpload(account, "folder/new", { "Transfer-Encoding": "chunked" });
  request.write("first");
  await expect.poll(() => readdirSync(join(given.dataDir, "uploads")).length).toBeGreaterThan(0);
  renameSync(join(storage, "folder"), join(storage, "moved"));
  if (what === "a link") symlinkSync(outside, join(storage, "folder"));
  if (what === "a file") writeFileSync(join(storage, "folder"), "");
  request.end("second");
  expect((await answer).status).toBe(what === "nothing" ? 200 : 422);
  unchanged(world);
  rmSync(join(storage, "moved"), { recursive: true });
});
