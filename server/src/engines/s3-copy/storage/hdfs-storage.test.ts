import { once } from "node:events";
import { describe, expect, test } from "vitest";
import { remote, status, useScriptedWebHdfs, type Serve } from "../../../../test/support/scripted-webhdfs.ts";
import { hdfsStorage } from "./hdfs-storage.ts";
import { NO_ATTRIBUTES, type OutputWriter } from "./storage.ts";

const removal = { retries: 0, onRetry: () => undefined };
const { listen, storeAt } = useScriptedWebHdfs();
const MIB = 1024 * 1024;

test("a folder is listed page by page, whatever the number of its entries", async () => {
  const names = Array.from({ length: 2500 }, (_, index) => `f${String(index).padStart(4, "0")}`);
  const left = ".put-0123456789abcdef";
  const folders: Record<string, readonly string[]> = { "/in": ["b", left, ...names], "/in/b": ["x"] };
  const asked: string[] = [];
  const serve: Serve = (request, response, operation) => {
    const { pathname, searchParams } = new URL(request.url ?? "", "http://here");
    const path = pathname.replace("/webhdfs/v1", "");
    const entries = (folders[path] ?? []).map((name) => ({
      pathSuffix: name,
      type: name === "b" ? "DIRECTORY" : "FILE",
      length: 1,
      modificationTime: 1,
    }));
    const after = searchParams.get("startAfter") ?? "";
    const rest = entries.slice(entries.findIndex(({ pathSuffix }) => pathSuffix === after) + 1);
    const FileStatuses = { FileStatus: rest.slice(0, 1000) };
    if (operation === "LISTSTATUS_BATCH") asked.push(path);
    response.end(
      operation === "GETFILESTATUS"
        ? status({ type: "DIRECTORY" })
        : JSON.stringify({
            DirectoryListing: { partialListing: { FileStatuses }, remainingEntries: Math.max(0, rest.length - 1000) },
          }),
    );
  };
  // A sorted listing would need more memory.
  const store = storeAt(await listen(serve), { maxHeldBytes: 100_000 });
  const pages = hdfsStorage(store, removal, new AbortController().signal).list("hdfs:///in");
  const found: string[] = [];
  let askedAtFirst = 0;
  for await (const page of pages) {
    if (found.length === 0) askedAtFirst = asked.length;
    for (const { uri, name } of page) found.push(uri === `hdfs:///in/${name}` ? name : uri);
  }
  expect(found.toSorted()).toEqual(["b/x", ...names]);
  expect([askedAtFirst, asked.length]).toEqual([1, 4]);
});

describe("an output of several parts", () => {
  const calls: string[] = [];

  async function created(dataNode: Serve): Promise<OutputWriter> {
    calls.length = 0;
    const data = await listen(dataNode);
    const store = storeAt(
      await listen((_, response, operation) => {
        calls.push(operation);
        if (operation === "CREATE") response.writeHead(307, { location: `${data}/webhdfs/v1/out` }).end();
        else response.writeHead(404).end(remote("FileNotFoundException"));
      }),
    );
    const plan = { bytes: 3 * MIB, attributes: NO_ATTRIBUTES };
    return hdfsStorage(store, removal, new AbortController().signal).create("hdfs:///out", plan);
  }

  const part = (number: number) => ({ number, offset: (number - 1) * MIB, bytes: [Buffer.alloc(MIB)] });

  test("opens no connection before its first part", async () => {
    const reached = Promise.withResolvers<void>();
    const writer = await created((request) => {
      reached.resolve();
      request.on("error", () => undefined).resume();
    });
    const second = writer.write(part(2)).catch(() => undefined);
    await writer.discard();
    await second;
    expect(calls).toEqual([]);
    const other = await created((request) => {
      reached.resolve();
      request.on("error", () => undefined).resume();
    });
    await other.write(part(1));
    await reached.promise;
    await other.discard();
    expect(calls).toEqual(["CREATE", "DELETE"]);
  });

  test("that failed tells the file and the cause with each later part", async () => {
    const broken = Promise.withResolvers<void>();
    const writer = await created((request) => {
      void once(request, "data").then(() => {
        request.socket.once("close", broken.resolve).resetAndDestroy();
      });
    });
    await writer.write(part(1)).catch(() => undefined); // it may be sent before the connection breaks
    await broken.promise;
    const failure = /^hdfs:\/\/\/out: the object store does not answer \((?:ECONNRESET|EPIPE)\)$/;
    await expect(writer.write(part(2))).rejects.toThrow(failure);
    await expect(writer.write(part(3))).rejects.toThrow(failure);
    await writer.discard();
  });
});
