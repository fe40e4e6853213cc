import { once } from "node:events";
import { connect } from "node:net";
import { describe, expect, it } from "vitest";
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
    const waiting = await metastore.start({ firstClientWaitMs: LONG_MS });
    const port = await waiting.listening(soon());
    const another = await metastore.start();
    await metastore.ready(another); // it would have become ready in this time, too
    expect(await waiting.port()).toBeUndefined();
    expect(await databasesAt(port)).toEqual(["default"]);
    expect(await metastore.ready(waiting)).toBe(port);
  });

  it("serves a client although a silent one has connected before", async () => {
    const waiting = await metastore.start({ firstClientWaitMs: LONG_MS });
    const port = await waiting.listening(soon());
    const silent = connect(port, "127.0.0.1").on("error", () => undefined);
    await once(silent, "connect");
    expect(await databasesAt(port)).toEqual(["default"]);
    silent.destroy();
  });

  it("becomes ready without a client when it has waited long enough", async () => {
    const waiting = await metastore.start({ firstClientWaitMs: 1 });
    expect(await metastore.ready(waiting)).toBe(await waiting.listening(soon()));
  });
});

function soon(): AbortSignal {
  return AbortSignal.timeout(120_000);
}
