import { once } from "node:events";
import { existsSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, it, vi } from "vitest";
import { HiveWriter, textStorage } from "../../../test/support/hive-writer.ts";
import { javaBelow } from "../../../test/support/java-process.ts";
import { useScratchMetastore } from "../../../test/support/scratch-metastore.ts";
import { sparkIsMissing } from "../../../test/support/spark-missing.ts";
import { HiveClient } from "../hive-thrift/hive-client.ts";
import type { HiveTable } from "../hive-thrift/hive-structs.ts";

// Skipped if this machine has no Java or Python; sparkIsMissing prints the reason.
describe.skipIf(sparkIsMissing)("a metastore", () => {
  const metastore = useScratchMetastore();
  const { secret, warehouse } = metastore;

  it("answers correctly after an outage of PostgreSQL, and never reports existing objects as missing", async () => {
    const many = { ...metastore.clientOptions(), maxConnections: 8 };
    const [client, writer] = [new HiveClient(many), new HiveWriter(many)];
    const sd = textStorage([{ name: "n", type: "int" }]);
    const partitionKeys = [{ name: "day", type: "string" }];
    const tableOf = (tableName: string): HiveTable => {
      return { tableName, dbName: "away", sd, partitionKeys, parameters: new Map(), tableType: "MANAGED_TABLE" };
    };
    const add = (day: string): Promise<void> => {
      const location = pathToFileURL(join(warehouse, "away.db/t", `day=${day}`)).href;
      const added = [{ values: [day], sd: { ...sd, location }, parameters: new Map() }];
      return client.addPartitions("away", "t", added, soon());
    };
    await writer.createDatabase({ name: "away" });
    await writer.createTable(tableOf("t"));
    await add("1");

    const outage = await stopPostgres();
    const answers = Promise.all([
      client.database("away", soon()).then(({ name }) => name),
      client.databaseNames(soon()).then((names) => names.includes("away")),
      client.table("away", "t", soon()).then(({ tableName }) => tableName),
      client.tableNames("away", soon()).then((names) => names.includes("t")),
      client.partitionNames("away", "t", {}, soon()).then((names) => names.includes("day=1")),
      client
        .partitionsByNames("away", "t", ["day=1"], soon())
        .next()
        .then(({ value }) => value?.length),
      writer.createTable(tableOf("made")),
      add("2"),
    ]);
    const tried = vi.waitUntil(() => outage.received.length >= 32, { timeout: 60_000 });
    await Promise.race([answers, tried]);
    await outage.end();
    expect(outage.received.join("")).toContain(metastore.postgres.user);
    expect(outage.received.join("")).not.toContain(metastore.postgres.password);
    expect(outage.afterWelcome).toEqual([]);
    expect(await answers).toEqual(["away", true, "t", true, true, 1, undefined, undefined]);
    expect([...(await client.tableNames("away", soon()))].sort()).toEqual(["made", "t"]);
    expect(await client.partitionNames("away", "t", {}, soon())).toEqual(["day=1", "day=2"]);
    await expect(client.table("away", "nothing", soon())).rejects.toMatchObject({ kind: "no-such-object" });
    writer.close();
    client.close();
  });

  it("uses another port if its own is taken, even by a metastore on the same database", async () => {
    const second = await metastore.start({ port: metastore.port });
    const other = await metastore.ready(second);
    expect(other).not.toBe(metastore.port);
    await expect.poll(() => second.isHealthy(secret)).toBe(true);
    await second.stop();
    expect(existsSync(second.folder)).toBe(false);
    await expect.poll(() => metastore.first.isHealthy(secret)).toBe(true);
  });

  it("can be restarted on the same port with its data after it was killed", async () => {
    const writer = new HiveWriter(metastore.clientOptions());
    await writer.createDatabase({ name: "kept" });
    const end = metastore.first.ended(AbortSignal.timeout(60_000));
    process.kill(await javaBelow(await metastore.first.pid()), "SIGKILL");
    await end;
    expect(await metastore.first.isAlive()).toBe(false);
    const again = await metastore.start({ port: metastore.port });
    expect(await metastore.ready(again)).toBe(metastore.port);
    const client = new HiveClient(metastore.clientOptions());
    expect(await client.databaseNames(soon())).toContain("kept");
    client.close();
    writer.close();
  });

  /** Like `pg_ctl stop -m immediate`. A rogue server then listens on the port and asks for passwords. */
  async function stopPostgres(): Promise<{ received: string[]; afterWelcome: string[]; end(): Promise<void> }> {
    process.kill((await metastore.cluster.postmasterPid()) ?? 0, "SIGQUIT");
    await metastore.cluster.stop();
    const received: string[] = [];
    const afterWelcome: string[] = [];
    let connections = 0;
    const server = createServer((socket) => {
      const asksForPassword = (connections += 1) % 2 === 0;
      let isAnswered = false;
      socket
        .on("error", () => undefined)
        .on("data", (chunk) => {
          received.push(chunk.toString("latin1"));
          if (isAnswered && !asksForPassword) afterWelcome.push(chunk.toString("latin1"));
          socket.write(asksForPassword ? ASK_FOR_PASSWORD : WELCOME);
          isAnswered = true;
        });
    });
    await once(server.listen(metastore.postgres.port, "127.0.0.1"), "listening");
    return {
      received,
      afterWelcome,
      async end() {
        await once(server.close(), "close");
        await metastore.startPostgres();
      },
    };
  }
});

/** Messages in PostgreSQL's protocol. */
const ASK_FOR_PASSWORD = Buffer.from("520000000800000003", "hex");
const WELCOME = Buffer.concat([
  Buffer.from("520000000800000000", "hex"), // AuthenticationOk
  ...["server_version\x0017.0\0", "client_encoding\0UTF8\0"].map((status) =>
    Buffer.concat([Buffer.from([0x53, 0, 0, 0, status.length + 4]), Buffer.from(status)]),
  ),
  Buffer.from("5a0000000549", "hex"), // ReadyForQuery
]);

function soon(): AbortSignal {
  return AbortSignal.timeout(60_000);
}
