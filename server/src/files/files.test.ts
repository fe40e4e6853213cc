import { randomBytes } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { beginUpload, download, FILES, upload } from "../../test/support/file-calls.ts";
import { useSharedServer, type AccountClient } from "../../test/support/given.ts";
import { sendAs } from "../../test/support/raw-request.ts";

const given = useSharedServer();

const storageOf = ({ accountId }: AccountClient): string =>
  join(given.dataDir, "accounts", String(accountId), "storage");

describe("a file", () => {
  test("is downloaded as it was uploaded", async () => {
    const account = await given.account();
    const contents = Buffer.from([0, 1, 255, 10, 13, 128]);
    const uploaded = await upload(account, "sales/orders.csv", contents, { "Content-Type": "application/json" });
    expect(uploaded.body).toEqual({
      path: "sales/orders.csv",
      size: 6,
      etag: expect.any(String),
      updated_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
    });
    const response = await fetch(`${given.base}${FILES}/sales/orders.csv`, {
      headers: { "X-AUTH-TOKEN": account.token ?? "" },
    });
    expect(response.status).toBe(200);
    expect(Buffer.from(await response.arrayBuffer()).equals(contents)).toBe(true);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      "content-type": "application/octet-stream",
      "content-disposition": `attachment; filename="orders.csv"; filename*=UTF-8''orders.csv`,
      "content-length": "6",
      "x-content-type-options": "nosniff",
      "accept-ranges": "bytes",
      etag: `"${uploaded.body.etag}"`,
      "last-modified": new Date(uploaded.body.updated_at).toUTCString(),
    });
    expect(readFileSync(join(storageOf(account), "sales/orders.csv")).equals(contents)).toBe(true);
  });

  test.each([
    ["a.json", "a.json"],
    ["a%20b", "a b"],
    ["a%2Fb", "a/b"],
    ["100%2525", "100%25"],
    ["a+b%3Fc%23d", "a+b?c#d"],
    ["%C3%BC/%f0%9f%98%80", "ü/😀"],
    ["svc_users/.hidden", "svc_users/.hidden"],
    ["%22%5C%25.csv", '"\\%.csv'],
  ])("is named %s exactly as the path says, decoded once", async (sent, path) => {
    const account = await given.account();
    expect((await upload(account, sent, path)).body).toMatchObject({ path });
    expect(readFileSync(join(storageOf(account), path), "utf8")).toBe(path);
    const found = await download(account, sent);
    expect(found.text).toBe(path);
    expect(found.headers.get("content-disposition")).toContain(
      `filename*=UTF-8''${encodeURIComponent(path.slice(path.lastIndexOf("/") + 1))}`,
    );
    expect((await account.get(FILES)).files).toMatchObject([{ path }]);
  });

  test.each(["v1.3", "latest"])("is the same under /api/%s", async (version) => {
    const account = await given.account();
    await upload(account, "a/b.json", "x");
    expect((await sendAs(given.base, account, { path: `/api/${version}/files/a/b.json` })).text).toBe("x");
    expect((await account.get(`/api/${version}/files/`)).files).toHaveLength(1);
  });

  test.each([
    ["%zz", "escape"],
    ["a%2", "escape"],
    ["%ff", "UTF-8"],
    ["a%00b", "control characters"],
    ["a%0Ab", "control characters"],
    ["a%C2%85b", "control characters"],
    ["a//b", "empty"],
    ["a/", "empty"],
    ["/a", "empty"],
    ["%2Fa", "empty"],
    [".", "."],
    ["./a", "."],
    ["a/../b", ".."],
    ["%2e%2E/a", ".."],
    ["x".repeat(256), "too long"],
  ])("cannot be named %s", async (sent, rule) => {
    const account = await given.account();
    for (const method of ["PUT", "GET", "DELETE"]) {
      const reply = await sendAs(given.base, account, { method, path: `${FILES}/${sent}`, body: "" });
      expect(reply.status, `${method}: ${reply.text}`).toBe(422);
      expect(reply.body.error.error_message).toMatch(/^path /);
      expect(reply.body.error.error_message).toContain(rule);
    }
    expect((await account.get(FILES)).files).toEqual([]);
  });

  test("cannot have a reserved name, but one that a program has made can be deleted", async () => {
    const account = await given.account();
    const path = "a/.put-0123456789abcdef";
    for (const reply of [await upload(account, path, "x"), await download(account, path)]) {
      expect([reply.status, reply.body.error.error_message]).toEqual([422, expect.stringMatching(/^path .*reserved/)]);
    }
    await account.delete(`${FILES}/${path}`).refused(404);
  });

  test("is never cached by proxies", async () => {
    const account = await given.account();
    await upload(account, "file", "secret");
    for (const request of [
      { path: `${FILES}/file` },
      { path: `${FILES}/file`, headers: { Range: "bytes=0-1" } },
      { path: `${FILES}/file`, method: "HEAD" },
      { path: `${FILES}/none` },
      { path: FILES },
    ]) {
      const { headers } = await sendAs(given.base, account, request);
      expect(headers.get("cache-control")).toBe("private, no-store");
    }
  });

  test("is not stored if its user loses the permission during the upload", async () => {
    const account = await given.account();
    const policies = [{ resource: "file", action: ["create", "update"], access: "allow" }];
    await account.post("/roles", { name: "writer", policies });
    const { group } = await account.post("/groups", { name: "writers", roles: "writer" });
    const member = await given.member(account, { groups: ["writers"] });
    expect((await upload(member, "first", "x")).status).toBe(200);
    const began = Date.now();
    const { request, answer } = beginUpload(member, "second", { "Transfer-Encoding": "chunked" });
    request.write("x");
    await expect.poll(() => readdirSync(join(given.dataDir, "uploads")).length).toBeGreaterThan(0);
    await account.put(`/groups/${group.id}/svc_users/${member.membershipId}/remove`, {});
    await expect.poll(() => Date.now() - began).toBeGreaterThan(1100); // access is taken as known for a second
    request.end();
    expect((await answer).status).toBe(403);
    expect((await account.get(FILES)).files).toMatchObject([{ path: "first" }]);
  });

  test("may be empty, may come in chunks, and only when the server asks for it", async () => {
    const account = await given.account();
    expect((await upload(account, "empty", "")).body).toMatchObject({ size: 0 });
    expect(await download(account, "empty")).toMatchObject({ status: 200, text: "" });
    expect((await upload(account, "chunked", "12345", { "Transfer-Encoding": "chunked" })).body.size).toBe(5);
    const { request, answer } = beginUpload(account, "asked", { "Content-Length": "3", Expect: "100-continue" });
    request.flushHeaders();
    request.on("continue", () => request.end("yes"));
    expect(await answer).toMatchObject({ status: 200 });
    const refused = beginUpload(given.anonymous(), "asked", { "Content-Length": "3000000", Expect: "100-continue" });
    refused.request.flushHeaders();
    refused.request.on("continue", () => refused.request.end("no"));
    expect(await refused.answer).toMatchObject({ status: 401 });
    expect((await download(account, "asked")).text).toBe("yes");
  });

  test("of many pieces arrives unchanged, whether the client reads fast or slowly", async () => {
    const account = await given.account();
    const contents = randomBytes(7_654_321);
    expect((await upload(account, "large", contents)).status).toBe(200);
    for (const isSlow of [false, true, false]) {
      const response = await fetch(`${given.base}${FILES}/large`, { headers: { "X-AUTH-TOKEN": account.token ?? "" } });
      const received: Uint8Array[] = [];
      for await (const chunk of response.body ?? []) {
        received.push(chunk);
        if (isSlow) await nextTurn();
      }
      expect(Buffer.concat(received).equals(contents)).toBe(true);
    }
  });

  test("cannot replace a folder, nor lie below a file, and a folder is no file", async () => {
    const account = await given.account();
    await upload(account, "folder/file", "x");
    for (const path of ["folder", "folder/file/below"]) {
      const reply = await upload(account, path, "y");
      expect(reply.status, reply.text).toBe(422);
      expect(reply.body.error.error_message).toMatch(/^path .*(folder|file)/);
    }
    for (const path of ["folder", "none", "folder/file/below"])
      expect((await download(account, path)).status).toBe(404);
    expect((await account.get(FILES)).files).toMatchObject([{ path: "folder/file", size: 1 }]);
  });

  test("of another account is like one that never was", async () => {
    const [account, other] = [await given.account(), await given.account()];
    await upload(other, "theirs", "secret");
    for (const method of ["GET", "DELETE"]) {
      const [theirs, none] = await Promise.all(
        ["theirs", "absent"].map((path) => sendAs(given.base, account, { method, path: `${FILES}/${path}` })),
      );
      expect(theirs?.status).toBe(404);
      expect(theirs?.text).toBe(none?.text.replace("absent", "theirs"));
    }
    expect((await account.get(FILES)).files).toEqual([]);
    expect((await download(other, "theirs")).text).toBe("secret");
  });

  test("needs the permissions to create and to replace files, and every change is audited", async () => {
    const account = await given.account();
    const roles = { create: ["create"], both: ["create", "update"], none: ["read", "delete"] };
    for (const [name, action] of Object.entries(roles)) {
      const policies = [{ resource: "file", action, access: "allow" }];
      await account.post("/roles", { name, policies });
      await account.post("/groups", { name, roles: name });
      const member = await given.member(account, { groups: [name] });
      expect((await upload(member, `by-${name}`, "x")).status).toBe(name === "both" ? 200 : 403);
      expect((await download(member, "by-both")).status).toBe(name === "none" ? 200 : 403);
    }
    await account.delete(`${FILES}/by-both`);
    const { audit_events: events } = await account.get("/api/v2/audit_events?object=file/by-both");
    expect(events.map(({ operation }: { operation: string }) => operation)).toEqual(["file_delete", "file_upload"]);
  });
});

describe("a condition", () => {
  test("of an upload is met by the ETag of the file, or by any file", async () => {
    const account = await given.account();
    const ifMatch = (etag: string) => ({ "If-Match": etag });
    for (const etag of ["*", '"x"']) expect((await upload(account, "a/new", "x", ifMatch(etag))).status).toBe(412);
    expect(readdirSync(storageOf(account))).toEqual([]);
    const { etag: first } = (await upload(account, "file", "one")).body;
    const { etag: second } = (await upload(account, "file", "two", ifMatch(`"${first}"`))).body;
    expect(second).not.toBe(first);
    expect((await upload(account, "file", "three", ifMatch(`"${first}"`))).status).toBe(412);
    expect((await upload(account, "file", "four", ifMatch("*"))).status).toBe(200);
    expect((await download(account, "file")).text).toBe("four");
    for (const bad of ['"a", "b"', 'W/"a"', '""']) {
      expect((await upload(account, "file", "five", ifMatch(bad))).body.error.error_message).toMatch(/^If-Match must/);
    }
  });

  test.each(["If-Match", "If-None-Match", "If-Unmodified-Since"])(
    "of a deletion (%s) deletes nothing",
    async (name) => {
      const account = await given.account();
      await upload(account, "file", "x");
      const deletion = { method: "DELETE", path: `${FILES}/file`, headers: { [name]: "*" } };
      const { status, body } = await sendAs(given.base, account, deletion);
      expect([status, body.error.error_message]).toEqual([422, `${name} cannot be used in a deletion`]);
      expect((await download(account, "file")).text).toBe("x");
    },
  );

  test.each(["If-None-Match", "If-Unmodified-Since", "Content-Range"])(
    "that is not supported (%s) stores nothing",
    async (name) => {
      const account = await given.account();
      const reply = await upload(account, "file", "x", { [name]: "*" });
      expect(reply.body.error).toEqual({ error_code: 422, error_message: `${name} cannot be used in an upload` });
      expect((await account.get(FILES)).files).toEqual([]);
    },
  );

  test("lets only one of many concurrent uploads replace the file", async () => {
    const account = await given.account();
    const { etag } = (await upload(account, "file", "old")).body;
    const replies = await Promise.all(
      Array.from({ length: 8 }, (_, at) => upload(account, "file", `new ${at}`, { "If-Match": `"${etag}"` })),
    );
    expect(replies.map(({ status }) => status).toSorted((one, other) => one - other)).toEqual([
      200,
      ...Array.from({ length: 7 }, () => 412),
    ]);
    const stored = replies.findIndex(({ status }) => status === 200);
    expect((await download(account, "file")).text).toBe(`new ${stored}`);
  });

  test("of a download is checked before anything is sent", async () => {
    const account = await given.account();
    const { etag } = (await upload(account, "file", "contents")).body;
    expect((await download(account, "file", { "If-Match": `"${etag}"` })).text).toBe("contents");
    expect((await download(account, "file", { "If-Match": "*" })).status).toBe(200);
    expect((await download(account, "file", { "If-Match": '"other"' })).body.error.error_code).toBe(412);
  });
});

describe("a range", () => {
  test.each([
    ["bytes=0-2", 206, "012", "bytes 0-2/10"],
    ["bytes=7-", 206, "789", "bytes 7-9/10"],
    ["bytes=8-100", 206, "89", "bytes 8-9/10"],
    ["bytes=-4", 206, "6789", "bytes 6-9/10"],
    ["bytes=-40", 206, "0123456789", "bytes 0-9/10"],
    ["bytes=0-1,4-5", 200, "0123456789", null],
    ["bytes=5-2", 200, "0123456789", null],
    ["lines=1-2", 200, "0123456789", null],
    ["bytes=-", 200, "0123456789", null],
    ["bytes=10-", 416, "Range ", "bytes */10"],
    ["bytes=-0", 416, "Range ", "bytes */10"],
  ])("%s gets status %i", async (range, status, text, contentRange) => {
    const account = await rangedAccount();
    const reply = await download(account, "digits", { Range: range });
    expect(reply.status).toBe(status);
    expect(reply.headers.get("content-range")).toBe(contentRange);
    expect(status === 416 ? reply.body.error.error_message.slice(0, 6) : reply.text).toBe(text);
    expect(status === 416 || reply.headers.get("content-length") === String(text.length)).toBe(true);
  });

  test("is sent only of the file that If-Range names", async () => {
    const account = await rangedAccount();
    const etag = (await download(account, "digits")).headers.get("etag") ?? "";
    const ranged = async (ifRange: string) =>
      (await download(account, "digits", { Range: "bytes=1-1", "If-Range": ifRange })).text;
    expect(await ranged(etag)).toBe("1");
    expect(await ranged('"other"')).toBe("0123456789");
  });

  test("is not needed to see the headers", async () => {
    const account = await rangedAccount();
    const reply = await sendAs(given.base, account, { method: "HEAD", path: `${FILES}/digits` });
    expect([reply.status, reply.text, reply.headers.get("content-length")]).toEqual([200, "", "10"]);
  });

  let ranged: Promise<AccountClient> | undefined;
  function rangedAccount(): Promise<AccountClient> {
    ranged ??= given.account().then(async (account) => {
      await upload(account, "digits", "0123456789");
      return account;
    });
    return ranged;
  }
});

describe("a list", () => {
  const PATHS = ["Z", "a.x", "a/1", "a/2", "a/b/3", "a0", "b/c/d", "é", "\u{10000}"];
  const all = async (account: AccountClient, query: string, size: number) => {
    const found: string[] = [];
    for (let after: string | null = ""; after !== null;) {
      const search: string = after === "" ? "" : `&after=${encodeURIComponent(after)}`;
      const page = await account.get(`${FILES}?per_page=${size}&${query}${search}`);
      const here = [...page.files.map(({ path }: { path: string }) => path), ...page.prefixes];
      expect(here.length).toBeLessThanOrEqual(size);
      expect(here.length > 0 || page.next_after === null).toBe(true);
      found.push(...here.toSorted((one, other) => Buffer.from(one).compare(Buffer.from(other))));
      after = page.next_after;
    }
    return found;
  };

  test("has the order of bytes, pages of any size, prefixes and a delimiter", async () => {
    const account = await given.account();
    for (const path of PATHS) await upload(account, encodeURIComponent(path), "x");
    for (const size of [1, 2, 3, 100]) {
      expect(await all(account, "", size)).toEqual(PATHS);
      expect(await all(account, "delimiter=/", size)).toEqual(["Z", "a.x", "a/", "a0", "b/", "é", "\u{10000}"]);
      expect(await all(account, "prefix=a/&delimiter=/", size)).toEqual(["a/1", "a/2", "a/b/"]);
      expect(await all(account, "prefix=a", size)).toEqual(["a.x", "a/1", "a/2", "a/b/3", "a0"]);
    }
    expect(await all(account, "prefix=none/", 10)).toEqual([]);
    const { files, prefixes, next_after: next } = await account.get(`${FILES}?per_page=2&after=a.x`);
    expect([files.map(({ path }: { path: string }) => path), prefixes, next]).toEqual([["a/1", "a/2"], [], "a/2"]);
  });

  test.each([
    ["delimiter=,", "delimiter"],
    ["per_page=0", "per_page"],
    ["per_page=101", "per_page"],
    ["prefix=/a", "prefix"],
    ["prefix=a//b", "prefix"],
    ["prefix=../x", "prefix"],
    ["prefix=a%00", "prefix"],
    ["after=a/../b", "after"],
  ])("with %s is refused", async (query, field) => {
    const account = await given.account();
    await account.get(`${FILES}?${query}`).refused(422, new RegExp(`^${field} `));
  });
});

describe("a deletion", () => {
  test("removes one file", async () => {
    const account = await given.account();
    await upload(account, "a/file", "x");
    expect(await account.delete(`${FILES}/a/file`)).toEqual({ status: "deleted", count: 1 });
    await account.delete(`${FILES}/a/file`).refused(404, /^File a\/file does not exist/);
    await account.delete(`${FILES}/a`).refused(404);
  });

  test("removes a folder with all files in it, and nothing beside it", async () => {
    const account = await given.account();
    for (const path of ["a/1", "a/b/2", "a/b/c/3", "a.x", "ab"]) await upload(account, path, "x");
    const deleted = await account.delete(`${FILES}/a/?recursive=true`);
    expect(deleted).toEqual({ status: "deleted", count: 3, has_more: false });
    await account.delete(`${FILES}/a?recursive=true`).refused(404, /^Folder a does not exist/);
    expect(readdirSync(storageOf(account)).toSorted()).toEqual(["a.x", "ab"]);
    await account.delete(`${FILES}/ab?recursive=x`).refused(422, /^recursive must be/);
    await account.delete(`${FILES}/ab?recursive=true`).refused(404);
  });
});
