import { Readable } from "node:stream";
import { describe, expect, test } from "vitest";
import { remote, status, useScriptedWebHdfs, type Serve } from "../../../test/support/scripted-webhdfs.ts";
import { addressRefusal } from "../../lib/network-policy.ts";
import type { ObjectStore } from "../object-store.ts";
import type { HdfsStoreOptions } from "./hdfs-store.ts";

const { listen, storeAt } = useScriptedWebHdfs();

/** A NameNode that redirects everything except status requests. */
const nameNode =
  (target: string): Serve =>
  (_, response, operation) => {
    if (operation === "GETFILESTATUS") response.end(status());
    else response.writeHead(307, { location: target }).end();
  };

describe("the target of a redirect", () => {
  test("is checked like the address of HDFS itself, for reads and writes", async () => {
    const reached: string[] = [];
    const dataNode = await listen((request, response, operation) => {
      reached.push(operation);
      request.resume().once("end", () => response.end("hello"));
    });
    const elsewhere = new URL(dataNode);
    elsewhere.hostname = "localhost";
    const target = `${elsewhere.origin}/webhdfs/v1/f`;
    const name = await listen(nameNode(`${target}?op=OPEN`));
    const check: string[] = [];
    const allowed = storeAt(name, { checkAddress: (address) => (check.push(address), null) });
    await expect(allowed.get("hdfs:///f").then(({ body }) => body.toArray())).resolves.toHaveLength(1);
    expect(reached).toEqual(["OPEN"]);
    expect(check.length).toBeGreaterThanOrEqual(2);

    // Allows only the first connection.
    let asked = 0;
    const once = storeAt(name, {
      checkAddress: (address) => (asked++ === 0 ? null : (addressRefusal(address, []) ?? null)),
    });
    await expect(once.get("hdfs:///f")).rejects.toMatchObject({ kind: "refused-address" });
    await expect(once.put("hdfs:///f", Buffer.from("x"))).rejects.toMatchObject({ kind: "refused-address" });
    expect(reached).toEqual(["OPEN"]);
  });

  test.each([
    "https://127.0.0.1:1/webhdfs/v1/f",
    "file:///etc/passwd",
    "http://user@127.0.0.1:1/webhdfs/v1/f",
    "http://127.0.0.1:1/latest/meta-data",
    "/webhdfs/v1/f",
    "",
  ])("must be WebHDFS with the same protocol: %j is not followed", async (target) => {
    const store = storeAt(await listen(nameNode(target)));
    await expect(store.get("hdfs:///f")).rejects.toMatchObject({ kind: "bad-response" });
    await expect(store.put("hdfs:///f", Buffer.from("x"))).rejects.toMatchObject({ kind: "bad-response" });
  });

  test("must not redirect again", async () => {
    let asked = 0;
    const target = await listen((_, response) => {
      asked += 1;
      response.writeHead(307, { location: `${target}/webhdfs/v1/f` }).end();
    });
    const store = storeAt(await listen(nameNode(`${target}/webhdfs/v1/f`)));
    await expect(store.get("hdfs:///f")).rejects.toMatchObject({ kind: "bad-response" });
    expect(asked).toBe(1);
  });
});

test("no connection is made to a refused address", async () => {
  const address = await listen((_, response) => response.end(status()));
  const store = storeAt(address, { checkAddress: (literal) => addressRefusal(literal, []) ?? null });
  await expect(store.stat("hdfs:///f")).rejects.toMatchObject({ kind: "refused-address" });
});

describe("a response of HDFS", () => {
  test.each([
    ["missing", 404, remote("FileNotFoundException")],
    ["denied", 403, remote("AccessControlException")],
    ["denied", 401, "<html>"],
    ["unreachable", 403, remote("StandbyException")],
    ["no-space", 403, remote("DSQuotaExceededException")],
    ["bad-request", 403, remote("IOException")],
    ["bad-request", 400, remote("IllegalArgumentException")],
    ["unreachable", 500, ""],
    ["missing", 404, `{"RemoteException":{"exception":"root:x:0"}}`],
    ["bad-response", 200, ""],
    ["bad-response", 200, "<html>"],
    ["bad-response", 200, "{}"],
    ["bad-response", 200, status({ length: "5" })],
    ["bad-response", 200, status({ length: -1 })],
    ["bad-response", 200, `{"FileStatus":${"[".repeat(10_000)}`],
    ["bad-response", 200, status({ more: JSON.parse(`${"[".repeat(20)}${"]".repeat(20)}`) })],
    ["bad-response", 200, " ".repeat(5 * 1024 * 1024)],
  ])("is %s for status %i, and its text is not quoted", async (kind, code, body) => {
    const store = storeAt(await listen((_, response) => response.writeHead(code).end(body)));
    const failure = await store.stat("hdfs://nn:8020/f").catch((error: unknown) => error);
    expect(failure).toMatchObject({ name: "ObjectStoreError", kind });
    expect(String(failure)).not.toMatch(/secret|root|html/);
  });

  test("with false and status 200 is an error", async () => {
    const data = await listen((request, response) => request.resume().once("end", () => response.writeHead(201).end()));
    const name = await listen((_, response, operation) => {
      if (operation === "CREATE") response.writeHead(307, { location: `${data}/webhdfs/v1/f` }).end();
      else response.end(JSON.stringify({ boolean: false }));
    });
    await expect(storeAt(name).put("hdfs:///f", Buffer.from("x"))).rejects.toMatchObject({ kind: "bad-request" });
  });

  test("with another length than requested is an error", async () => {
    const store = storeAt(
      await listen((_, response, operation) => response.end(operation === "OPEN" ? "hello world" : status())),
    );
    await expect(store.get("hdfs:///f")).rejects.toMatchObject({ kind: "bad-response" });
  });

  test("that is late is an error, and a caller that aborts gets its own reason", async () => {
    const store = storeAt(await listen(() => undefined), { headersTimeoutMs: 100 });
    await expect(store.stat("hdfs:///f")).rejects.toMatchObject({ kind: "unreachable" });
    await expect(store.stat("hdfs:///f", { signal: AbortSignal.abort(new Error("off")) })).rejects.toThrow("off");
  });
});

describe("a body that is being written", () => {
  const calls: string[] = [];
  const writing = async (serve: Serve, changes: Partial<HdfsStoreOptions> = {}): Promise<ObjectStore> => {
    calls.length = 0;
    const data = await listen(serve);
    return storeAt(
      await listen((_, response, operation) => {
        calls.push(operation);
        if (operation === "CREATE") response.writeHead(307, { location: `${data}/webhdfs/v1/f` }).end();
        else response.end(JSON.stringify({ boolean: true }));
      }),
      changes,
    );
  };
  const endless = (): Readable => Readable.from(Array(1000).fill(Buffer.alloc(64 * 1024)));

  test("and fails makes the write fail with its reason, and leaves nothing", async () => {
    const store = await writing((request) => request.on("error", () => undefined).resume());
    const body = Readable.from(
      (async function* () {
        yield Buffer.from("x");
        throw new Error("the source is gone");
      })(),
    );
    await expect(store.put("hdfs:///f", body)).rejects.toThrow("the source is gone");
    expect(calls).toEqual(["CREATE", "DELETE"]);
    const gone = Readable.from([]);
    gone.destroy(new Error("gone before"));
    await expect(store.put("hdfs:///f", gone)).rejects.toThrow("gone before");
  });

  test("is no longer read when the connection breaks, which is reported as such", async () => {
    const store = await writing((request) => request.once("data", () => request.socket.resetAndDestroy()));
    const body = endless();
    await expect(store.put("hdfs:///f", body)).rejects.toMatchObject({ kind: "unreachable" });
    expect([body.destroyed, calls]).toEqual([true, ["CREATE", "DELETE"]]);
  });

  test("may pause for any time, but the server may not while it has bytes to take", async () => {
    const silence = await listen(() => undefined);
    const silent = storeAt(await listen(nameNode(`${silence}/webhdfs/v1/f`)), { bodyIdleTimeoutMs: 1500 });
    const store = await writing(
      (request, response) => request.resume().once("end", () => response.writeHead(201).end()),
      { bodyIdleTimeoutMs: 300 },
    );
    const body = Readable.from(
      (async function* () {
        yield Buffer.from("x");
        // This takes five times as long as the first connection may be inactive.
        await expect(silent.put("hdfs:///f", Buffer.from("y"))).rejects.toMatchObject({ code: "ETIMEDOUT" });
        yield Buffer.from("z");
      })(),
    );
    await store.put("hdfs:///f", body);
    expect(calls).toEqual(["CREATE", "RENAME"]);
  });

  test("and is acknowledged before its end makes the write fail, and no part of it becomes visible", async () => {
    const store = await writing((_, response) => response.writeHead(201).end());
    const body = new Readable({ read: () => undefined });
    body.push("the first of many bytes");
    await expect(store.put("hdfs:///f", body)).rejects.toMatchObject({
      kind: "bad-response",
      message: "hdfs:///f: the server reports success before it has the whole file",
    });
    expect([body.destroyed, calls]).toEqual([true, ["CREATE", "DELETE"]]);
  });

  test("can be aborted with the caller's reason", async () => {
    const off = new AbortController();
    const store = await writing((request) => {
      request.on("error", () => undefined).once("data", () => off.abort(new Error("no longer")));
    });
    const body = endless();
    await expect(store.put("hdfs:///f", body, { signal: off.signal })).rejects.toThrow("no longer");
    expect([body.destroyed, calls]).toEqual([true, ["CREATE", "DELETE"]]);
  });
});

test.each(["hdfs:///", "hdfs:///a/", "hdfs:///a/../b", "hdfs:///..", "hdfs:///.put-0123456789abcdef", "s3://bucket/k"])(
  "%s does not name a file",
  async (uri) => {
    await expect(storeAt("http://127.0.0.1:1").stat(uri)).rejects.toMatchObject({ kind: "bad-uri" });
  },
);

describe("an endless listing", () => {
  /** Each page has a thousand new entries and announces one more. */
  const endless = async (changes: Partial<HdfsStoreOptions> = {}): Promise<{ store: ObjectStore; asked: string[] }> => {
    const asked: string[] = [];
    const address = await listen((request, response) => {
      asked.push(new URL(request.url ?? "", "http://here").searchParams.get("startAfter") ?? "");
      const entry = (_: unknown, index: number) => ({
        pathSuffix: `n=${String(asked.length).padStart(6, "0")}-${index}`,
        type: "DIRECTORY",
        length: 0,
        modificationTime: 1,
      });
      const FileStatus = Array.from({ length: 1000 }, entry);
      response.end(
        JSON.stringify({ DirectoryListing: { partialListing: { FileStatuses: { FileStatus } }, remainingEntries: 1 } }),
      );
    });
    return { store: storeAt(address, changes), asked };
  };

  test("is read page by page, only as far as the reader continues", async () => {
    const { store, asked } = await endless();
    const names: string[] = [];
    for await (const { name } of store.folder("hdfs:///t")) if (names.push(name) === 2500) break;
    expect(names.at(-1)).toBe("n=000003-499");
    expect(asked).toEqual(["", "n=000001-999", "n=000002-999"]);
  });

  test("is an error when it exceeds what a folder can have", async () => {
    const { store, asked } = await endless({ maxEntries: 20_000 });
    await expect(Array.fromAsync(store.folder("hdfs:///t"))).rejects.toMatchObject({ kind: "bad-response" });
    expect(asked).toHaveLength(21);
  });

  test("is an error if sorting it would need too much memory", async () => {
    const { store, asked } = await endless({ maxHeldBytes: 5_000_000, maxEntries: 20_000 });
    await expect(Array.fromAsync(store.list("hdfs:///t/"))).rejects.toMatchObject({
      kind: "too-large",
      message: "hdfs:///t/: a folder has too many entries to sort them",
    });
    expect(asked.length).toBeLessThan(20);
    // Entries that do not match need no memory.
    await expect(Array.fromAsync(store.list("hdfs:///t/n=000003-99"))).rejects.toMatchObject({ kind: "bad-response" });
  });

  test.each([0, 1])(
    "that repeats a page is an error, even if it is the last one: %i entries are left",
    async (left) => {
      const FileStatus = ["a", "b"].map((name) => ({ pathSuffix: name, type: "FILE", length: 0, modificationTime: 1 }));
      let pages = 0;
      const address = await listen((_, response) => {
        const remainingEntries = ++pages === 1 ? 2 : left;
        response.end(
          JSON.stringify({ DirectoryListing: { partialListing: { FileStatuses: { FileStatus } }, remainingEntries } }),
        );
      });
      const names: string[] = [];
      const reading = (async () => {
        for await (const { name } of storeAt(address).folder("hdfs:///t")) names.push(name);
      })();
      await expect(reading).rejects.toMatchObject({ kind: "bad-response" });
      expect(names).toEqual(["a", "b"]);
    },
  );

  test("may have the order of HDFS, where names with other characters than ASCII come first", async () => {
    const all = ["ü", "日本", "a", "b"];
    const address = await listen((request, response) => {
      const after = new URL(request.url ?? "", "http://here").searchParams.get("startAfter") ?? "";
      const rest = all.slice(all.indexOf(after) + 1);
      const FileStatus = rest
        .slice(0, 1)
        .map((name) => ({ pathSuffix: name, type: "FILE", length: 0, modificationTime: 1 }));
      const remainingEntries = rest.length - 1;
      response.end(
        JSON.stringify({ DirectoryListing: { partialListing: { FileStatuses: { FileStatus } }, remainingEntries } }),
      );
    });
    const found = await Array.fromAsync(storeAt(address).folder("hdfs:///t"));
    expect(found.map(({ name }) => name)).toEqual(all);
  });
});
