import { once } from "node:events";
import { existsSync, readdirSync, statSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, it, vi } from "vitest";
import { freePort } from "../../../test/support/free-port.ts";
import { HiveWriter, textStorage } from "../../../test/support/hive-writer.ts";
import { javaBelow } from "../../../test/support/java-process.ts";
import { listeningSockets } from "../../../test/support/listening-sockets.ts";
import { answerTo } from "../../../test/support/raw-answer.ts";
import { startRogueMetastore, startRoguePostgres, type RoguePostgres } from "../../../test/support/rogue-servers.ts";
import { useScratchMetastore } from "../../../test/support/scratch-metastore.ts";
import { sparkIsMissing } from "../../../test/support/spark-missing.ts";
import { renderCall } from "../hive-thrift/codec/message.ts";
import { HiveClient } from "../hive-thrift/hive-client.ts";
import { getAllDatabases, setUgi } from "../hive-thrift/hive-functions.ts";
import type { HiveTable } from "../hive-thrift/hive-structs.ts";
import { metastoreCommandLine } from "./metastore-command-line.ts";
import { Metastore } from "./metastore.ts";
import { probeMetastore } from "./probe-metastore.ts";

const LONG_MS = 3_600_000;

// Skipped if this machine has no Java or Python; sparkIsMissing prints the reason.
describe.skipIf(sparkIsMissing)("a metastore", () => {
  const metastore = useScratchMetastore();
  const { secret, warehouse, identity } = metastore;

  it("has created all its tables before it serves requests", async () => {
    const [row] = await metastore.rows("select count(*)::int as n from pg_tables where schemaname = 'public'");
    expect(row?.["n"]).toBeGreaterThanOrEqual(40);
  });

  it("listens on loopback, on one port", async () => {
    const sockets = await listeningSockets((await metastore.first.pid()) ?? 0);
    expect(sockets.ports).toEqual([metastore.port]);
    await expect.poll(() => metastore.first.isHealthy(secret)).toBe(true);
  });

  it("does not answer clients without the secret, whatever they send", async () => {
    const tries = [
      renderCall(getAllDatabases, 1, {}),
      renderCall(setUgi, 1, { userName: "us", groupNames: ["guess"] }),
      renderCall(setUgi, 1, { userName: "us", groupNames: [""] }),
      renderCall(setUgi, 1, { userName: secret, groupNames: [] }),
      // Strings of 2 GB and of 100 MB, for which no memory must be allocated.
      Buffer.from("800100017fffffff", "hex"),
      Buffer.from("0106000000", "hex"),
      Buffer.from("GET / HTTP/1.1\r\n\r\n"),
    ];
    for (const bytes of tries) expect(await answerTo(metastore.port, bytes)).toHaveLength(0);
    expect(await metastore.first.isHealthy("guess")).toBe(false);
    await expect.poll(() => metastore.first.isHealthy(secret)).toBe(true);
  });

  it("is distinguished from another process on its port, which learns nothing about the secret", async () => {
    const rogue = await startRogueMetastore();
    try {
      expect(await probeMetastore(rogue.port, secret, soon())).toBe(false);
      const client = new HiveClient({ ...metastore.clientOptions(), port: rogue.port });
      await expect(client.databaseNames(soon())).rejects.toThrow("did not prove that it knows the shared secret");
      const all = rogue.received.join("");
      expect(all).toContain("DIGEST-MD5");
      expect(all).toContain("response=");
      for (const form of [secret, Buffer.from(secret).toString("base64"), "get_all_databases"]) {
        expect(all).not.toContain(form);
      }
    } finally {
      await rogue.stop();
    }
  });

  it("answers a client with the secret while silent connections exceed its limit", async () => {
    const silentClients = Array.from({ length: 300 }, () =>
      connect(metastore.port, "127.0.0.1").on("error", () => undefined),
    );
    try {
      const soon = AbortSignal.timeout(8000); // the metastore closes silent connections after ten seconds
      await Promise.all(silentClients.map((each) => once(each, "connect")));
      expect(await probeMetastore(metastore.port, secret, soon)).toBe(true);
    } finally {
      for (const each of silentClients) each.destroy();
    }
  });

  it("has its secrets in files that only its user can read, not on the command line", async () => {
    const { argv, files } = metastoreCommandLine(
      metastore.home,
      {
        database: { jdbcUrl: "jdbc:x", user: "u", password: "hunter2" },
        warehouse: "file:/w",
        secret: "s3cret",
        port: 0,
        firstClientWaitMs: 0,
        properties: { "spark.hadoop.fs.s3a.secret.key": "hunter3", "spark.ui.port": "1" },
        classPath: [],
      },
      { work: "/w", input: "/i", userName: "u" },
    );
    expect(argv.join(" ")).not.toMatch(/hunter|s3cret/);
    expect(files["metastore.properties"]).toMatch(/^fs\.s3a\.secret\.key=hunter3$/m);
    expect(files["metastore.properties"]).not.toContain("spark.ui");
    const written = statSync(join(metastore.first.folder, "input/metastore.properties"));
    expect([written.mode & 0o777, written.uid]).toEqual([0o600, identity?.uid ?? process.getuid?.()]);
  });

  it("drops a database with its tables and files, using few connections", async () => {
    const writer = new HiveWriter(metastore.clientOptions());
    await writer.createDatabase({ name: "d" });
    const sd = textStorage([{ name: "n", type: "int" }]);
    await writer.createTable({ tableName: "t", dbName: "d", sd, partitionKeys: [], tableType: "MANAGED_TABLE" });
    expect(readdirSync(join(warehouse, "d.db"))).toEqual(["t"]);
    expect(statSync(join(warehouse, "d.db")).uid).toBe(identity?.uid ?? process.getuid?.());
    await writer.dropDatabase("d");
    expect(existsSync(join(warehouse, "d.db"))).toBe(false);
    expect(await metastore.rows('select "NAME" from "DBS"')).toEqual([{ NAME: "default" }]);
    const [row] = await metastore.rows(
      "select count(*)::int as n from pg_stat_activity where application_name like '%JDBC%'",
    );
    expect(row?.["n"]).toBeLessThanOrEqual(6);
    writer.close();
  });

  it("serves the next call of any kind after PostgreSQL closed its connections", async () => {
    const [client, writer] = [new HiveClient(metastore.clientOptions()), new HiveWriter(metastore.clientOptions())];
    const sd = textStorage([{ name: "n", type: "int" }]);
    const createTable = (name: string): Promise<void> =>
      writer.createTable({
        tableName: name,
        dbName: "cut",
        sd,
        partitionKeys: [{ name: "day", type: "string" }],
        parameters: new Map(),
        tableType: "MANAGED_TABLE",
      });
    const add = (day: string): Promise<void> => {
      const location = pathToFileURL(join(warehouse, "cut.db/t", `day=${day}`)).href;
      return client.addPartitions(
        "cut",
        "t",
        [{ values: [day], sd: { ...sd, location }, parameters: new Map() }],
        soon(),
      );
    };
    await writer.createDatabase({ name: "dropped" });
    await writer.dropDatabase("dropped"); // opens the connections that only this call uses
    await writer.createDatabase({ name: "cut" });
    await createTable("t");
    await add("1");
    const calls: (() => Promise<unknown>)[] = [
      () => client.databaseNames(soon()),
      () => writer.partitionCount("cut", "t"),
      () => client.partitionNames("cut", "t", {}, soon()),
      () => add("2"),
      () => createTable("other"),
      () => writer.dropTable("cut", "other"),
      () => writer.dropDatabase("cut"),
    ];
    for (const call of calls) {
      await Promise.all([1, 2, 3, 4].map(() => client.databaseNames(soon())));
      expect((await metastore.rows(endConnections)).length).toBeGreaterThan(0);
      await call();
    }
    writer.close();
    client.close();
  });

  it("is found again by its folder", async () => {
    const again = new Metastore(metastore.first.folder);
    expect([await again.port(), await again.isAlive()]).toEqual([metastore.port, true]);
    await expect.poll(() => again.isHealthy(secret)).toBe(true);
  });

  it("reports why it cannot start", async () => {
    const wrong = await metastore.start({ password: "wrong" });
    await expect(metastore.ready(wrong)).rejects.toThrow(/cannot start: .*password authentication failed/);
  });

  describe("that waits for its first client", () => {
    async function databasesAt(port: number): Promise<readonly string[]> {
      // The metastore answers only after it has loaded Hive, which can take longer than clients usually wait.
      const client = new HiveClient({ ...metastore.clientOptions(), port, connectTimeoutMs: 60_000 });
      try {
        return await client.databaseNames(soon());
      } finally {
        client.close();
      }
    }

    it("becomes ready when that client connects, even if a silent client connected first", async () => {
      const [port, otherPort] = [await freePort(), await freePort()];
      const waiting = await metastore.start({ port, firstClientWaitMs: LONG_MS });
      const other = await metastore.start({ port: otherPort, firstClientWaitMs: LONG_MS });
      const silent = await vi.waitFor(() => connectTo(otherPort), { timeout: 120_000 });
      expect(await databasesAt(otherPort)).toEqual(["default"]);
      expect(await metastore.ready(other)).toBe(otherPort);
      silent.destroy();
      expect(await waiting.port()).toBeUndefined();
      expect(await databasesAt(port)).toEqual(["default"]);
      expect(await metastore.ready(waiting)).toBe(port);
      await Promise.all([waiting.stop(), other.stop()]); // the outage below must see the connections of one metastore
    });

    it("becomes ready when it has waited long enough, on another port if a metastore on the same database uses the requested one", async () => {
      const second = await metastore.start({ port: metastore.port, firstClientWaitMs: 1 });
      const other = await metastore.ready(second);
      expect(other).not.toBe(metastore.port);
      await expect.poll(() => second.isHealthy(secret)).toBe(true);
      await second.stop();
      expect(existsSync(second.folder)).toBe(false);
      await expect.poll(() => metastore.first.isHealthy(secret)).toBe(true);
    });
  });

  // The last ones, because they stop PostgreSQL and the metastore.
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
    await outage.stop();
    await metastore.startPostgres();
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
  async function stopPostgres(): Promise<RoguePostgres> {
    process.kill((await metastore.cluster.postmasterPid()) ?? 0, "SIGQUIT");
    await metastore.cluster.stop();
    return startRoguePostgres(metastore.postgres.port);
  }
});

async function connectTo(port: number): Promise<Socket> {
  const socket = connect(port, "127.0.0.1");
  await once(socket, "connect");
  return socket.on("error", () => undefined);
}

/** Waits until the connections are closed. */
const endConnections = `select pg_terminate_backend(pid, 10000) from pg_stat_activity
  where datname = current_database() and pid <> pg_backend_pid()`;

function soon(): AbortSignal {
  return AbortSignal.timeout(60_000);
}
