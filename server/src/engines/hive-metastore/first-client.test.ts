import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { describe, expect, it, vi } from "vitest";
import { freePort } from "../../../test/support/free-port.ts";
import { useScratchMetastore } from "../../../test/support/scratch-metastore.ts";
import { sparkIsMissing } from "../../../test/support/spark-missing.ts";
import { HiveClient } from "../hive-thrift/hive-client.ts";

const LONG_MS = 3_600_000;

// Skipped if this machine has no Java or Python; sparkIsMissing prints the reason.
describe.skipIf(sparkIsMissing)("a metastore that waits for its first client", () => {
  const metastore = useScratchMetastore();

  async function databasesAt(port: number): Promise<readonly string[]> {
    const client = new HiveClient({ ...metastore.clientOptions(), port });
    try {
      return await client.databaseNames(soon());
    } finally {
      client.close();
    }
  }

  it("only listens while it waits, and then serves that client", async () => {
    const port = await freePort();
    const waiting = await metastore.start({ port, firstClientWaitMs: LONG_MS });
    const another = await metastore.start();
    await metastore.ready(another); // it would have become ready in this time, too
    expect(await waiting.port()).toBeUndefined();
    expect(await databasesAt(port)).toEqual(["default"]);
    expect(await metastore.ready(waiting)).toBe(port);
  });

  it("serves a client although a silent one has connected before", async () => {
    const port = await freePort();
    await metastore.start({ port, firstClientWaitMs: LONG_MS });
    const silent = await vi.waitFor(() => connectTo(port), { timeout: 120_000 });
    expect(await databasesAt(port)).toEqual(["default"]);
    silent.destroy();
  });

  it("becomes ready without a client when it has waited long enough", async () => {
    const port = await freePort();
    expect(await metastore.ready(await metastore.start({ port, firstClientWaitMs: 1 }))).toBe(port);
  });
});

async function connectTo(port: number): Promise<Socket> {
  const socket = connect(port, "127.0.0.1");
  await once(socket, "connect");
  return socket.on("error", () => undefined);
}

function soon(): AbortSignal {
  return AbortSignal.timeout(120_000);
}
