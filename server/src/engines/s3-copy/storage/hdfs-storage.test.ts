import { once } from "node:events";
import { describe, expect, test } from "vitest";
import { remote, useScriptedWebHdfs, type Serve } from "../../../../test/support/scripted-webhdfs.ts";
import { hdfsStorage } from "./hdfs-storage.ts";
import { NO_ATTRIBUTES, type OutputWriter } from "./storage.ts";

const { listen, storeAt } = useScriptedWebHdfs();
const MIB = 1024 * 1024;

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
    return hdfsStorage(store, new AbortController().signal).create("hdfs:///out", plan);
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
