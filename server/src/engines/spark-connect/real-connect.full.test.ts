import { randomUUID } from "node:crypto";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { tableFromIPC } from "apache-arrow";
import { afterAll, beforeAll, describe, expect, inject, it, vi } from "vitest";
import { startCutOffProxy } from "../../../test/chaos/cut-off-proxy.ts";
import {
  findSparkHome,
  SET_UP_MS,
  startConnectServer,
  type TestConnectServer,
} from "../../../test/support/connect-server.ts";
import { liveBytes } from "../../../test/memory/live-memory.ts";
import { sparkIsMissing } from "../../../test/support/spark-missing.ts";
import { Secret } from "../../lib/secret.ts";
import type { ConnectEvent } from "./connect-event.ts";
import { ConnectError } from "./connect-error.ts";
import type { ConnectExecution } from "./connect-execution.ts";
import type { ConnectSession } from "./connect-session.ts";
import { typeText } from "./spark-type.ts";
import { openConnect, type ConnectChannel } from "./spark-connect.ts";

const MIB = 1024 * 1024;
const PATIENCE = { timeout: 45_000 };

// Skipped on machines without Java or Python.
describe.skipIf(sparkIsMissing)("a real Spark Connect server", () => {
  let server: TestConnectServer;
  let channel: ConnectChannel;
  let session: ConnectSession;

  beforeAll(async () => {
    const home = await findSparkHome(inject("postgres").cacheDir);
    server = await startConnectServer(home, {
      properties: {
        // Failed tasks are tried again, as on a cluster.
        "spark.master": "local[2, 4]",
        // Ends streams often, so that every longer result here needs several.
        "spark.connect.execute.reattachable.senderMaxStreamSize": "4m",
        // As on our own servers.
        "spark.connect.grpc.interceptor.classes": "headgate.connect.PoolInterceptor",
        "spark.connect.extensions.command.classes": "org.apache.spark.sql.connect.headgate.StoredResults",
        // Slightly more than all tasks of a stored result may return.
        "spark.driver.maxResultSize": "72m",
        // Shows the jobs.
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": ".",
        "spark.eventLog.compress": "false",
        "spark.eventLog.rolling.enabled": "false",
      },
    });
    channel = connect();
    session = channel.session();
    // Frequent reports, so that short statements have progress too.
    await session.setConfig({ "spark.connect.progress.reportInterval": "20ms" });
    await run("SELECT count(*) FROM range(0, 100, 1, 4)"); // the first one warms the server up
  }, SET_UP_MS);
  afterAll(async () => {
    channel.close();
    await server.stop();
  });

  it("accepts only its own token", async () => {
    await channel.ping();
    expect(await channel.version()).toMatch(/^4\./);
    for (const token of [new Secret("wrong"), undefined]) {
      const stranger = connect({ token });
      expect(await failure(stranger.ping())).toMatchObject({ kind: "refused" });
      expect(await failure(run("SELECT 1", stranger.session()))).toMatchObject({ kind: "refused" });
      stranger.close();
    }
  });

  it("returns rows with Spark's own types", async () => {
    const { columns, rows, events } = await run(
      "SELECT 1L AS a, array('x') AS b, named_struct('a', 1, 'b', map('k', 1.50)) AS c, interval '1' day AS d, " +
        "interval '1-2' year to month AS e, current_timestamp() AS f, parse_json('1') AS g, null AS h, x'00' AS i",
    );
    expect(columns).toEqual([
      "a bigint",
      "b array<string>",
      "c struct<a:int,b:map<string,decimal(3,2)>>",
      "d interval day",
      "e interval year to month",
      "f timestamp",
      "g variant",
      "h void",
      "i binary",
    ]);
    expect(rows).toHaveLength(1);
    expect(rows[0]).toMatchObject({ a: 1n });
    const kinds = events.map(({ kind }) => kind).filter((kind) => kind !== "progress");
    expect(kinds).toEqual(["schema", "batch", "complete"]);
  });

  it("runs each command once, and returns its rows like those of a query", async () => {
    expect((await run("CREATE TABLE once (a INT) USING parquet")).columns).toEqual([]);
    await run("INSERT INTO once VALUES (1)");
    await run("WITH more AS (SELECT 2 AS a) INSERT INTO once SELECT a FROM more");
    await run("BEGIN DECLARE b INT = 3; INSERT INTO once VALUES (b); END");
    expect((await run("SELECT a FROM once ORDER BY a")).rows).toEqual([{ a: 1 }, { a: 2 }, { a: 3 }]);
    const { columns, rows } = await run("SHOW TABLES LIKE 'once'");
    expect(columns).toEqual(["namespace string", "tableName string", "isTemporary boolean"]);
    expect(rows).toEqual([{ namespace: "default", tableName: "once", isTemporary: false }]);
    expect((await run("SHOW FUNCTIONS")).rows.length).toBeGreaterThan(300);
    expect((await run("SELECT a FROM once WHERE a > 9")).rows).toEqual([]);
  });

  it("reports why a statement failed, with class, SQL state and the whole message", async () => {
    expect(await failure(run("SELECT * FROM nowhere"))).toMatchObject({
      kind: "failed",
      errorClass: "TABLE_OR_VIEW_NOT_FOUND",
      sqlState: "42P01",
    });
    expect(await failure(run("SELEC 1"))).toMatchObject({ errorClass: "PARSE_SYNTAX_ERROR", sqlState: "42601" });
    expect(await failure(run("SELECT 1 / 0"))).toMatchObject({ errorClass: "DIVIDE_BY_ZERO", sqlState: "22012" });
    const long = await failure(run("SELECT raise_error(repeat('x', 9000))"));
    expect(long).toMatchObject({ errorClass: "USER_RAISED_EXCEPTION", sqlState: "P0001" });
    expect(long.message).toContain("x".repeat(9000));
  });

  it("logs no error when a session is released right after its last statement", async () => {
    const before = server.log().length;
    for (let count = 0; count < 20; count += 1) {
      const short = channel.session();
      await run("SELECT 1", short);
      await short.release();
    }
    expect(server.log().slice(before)).not.toContain("ERROR");
  });

  it("ends an interrupted statement early", async () => {
    const operationId = randomUUID();
    let interrupted = 0;
    const reading = read(session.execute(LONG, { operationId }), async (event) => {
      if (event.kind !== "progress" || event.percent === 0 || interrupted > 0) return;
      interrupted = performance.now();
      expect(await session.interrupt(operationId)).toBe(true);
    });
    expect(await failure(reading)).toMatchObject({ kind: "cancelled", errorClass: "OPERATION_CANCELED" });
    expect(performance.now() - interrupted).toBeLessThan(30_000);
    expect(await session.interrupt(operationId)).toBe(false);
  });

  it("leaves a statement running when its reader stops", async () => {
    const operationId = randomUUID();
    const stopping = new AbortController();
    const reading = read(session.execute(LONG, { operationId, signal: stopping.signal }), (event) => {
      if (event.kind === "progress" && event.percent > 0) stopping.abort();
    });
    await expect(reading).rejects.toThrow("aborted");
    expect(await session.interrupt(operationId)).toBe(true);
  });

  it("reports the progress of a statement's tasks", async () => {
    const { events } = await run(sleeping({ tasks: 50, eachMs: 40 }));
    const percents = events.flatMap((event) => (event.kind === "progress" ? [event.percent] : []));
    expect(percents).toEqual([...new Set(percents)].toSorted((one, other) => one - other));
    expect(percents.filter((percent) => percent > 0 && percent < 99).length).toBeGreaterThan(2);
  });

  it("continues where it was when the connection breaks in the middle of a result", async () => {
    const proxy = await startCutOffProxy(server);
    const broken = connect({ port: proxy.port });
    const { startRows, rowCount } = await rowsSeen(
      broken.session().execute(MANY_ROWS, { operationId: randomUUID() }),
      async (seen) => {
        if (seen !== 3 && seen !== 9) return;
        await proxy.cut();
        await proxy.heal("breaks");
      },
    );
    broken.close();
    proxy.close();
    expect(rowCount).toBe(MANY);
    expect(startRows).toEqual(startRows.toSorted((one, other) => one - other));
    expect(new Set(startRows).size).toBe(startRows.length);
  });

  it("resumes right after the last position stored before a crash", async () => {
    const [id, operationId] = [randomUUID(), randomUUID()];
    const first = connect();
    let stored = { position: "", rows: 0 };
    for await (const event of first.session({ id }).execute(MANY_ROWS, { operationId })) {
      if (event.kind !== "batch" || event.part < event.parts - 1) continue;
      stored = { position: event.position, rows: stored.rows + event.rowCount };
      if (stored.rows > MANY / 3) break;
    }
    first.close();
    const second = connect();
    const again = second.session({ id });
    const { startRows, rowCount } = await rowsSeen(again.resume({ operationId, position: stored.position }));
    expect(startRows[0]).toBe(stored.rows);
    expect(stored.rows + rowCount).toBe(MANY);
    // The result is complete; its release happens in the background.
    await vi.waitFor(async () => {
      const late = again.resume({ operationId, position: stored.position });
      expect(await failure(read(late))).toMatchObject({ kind: "operation gone" });
    }, PATIENCE);
    second.close();
  });

  it("starts a statement once, however often it is requested", async () => {
    await run("CREATE TABLE twice (a INT) USING parquet");
    const start = (): ConnectExecution => session.execute("INSERT INTO twice VALUES (1)", { operationId });
    const operationId = randomUUID();
    const reading = start()[Symbol.asyncIterator]();
    await reading.next();
    await reading.return?.();
    expect((await read(start())).events.at(-1)).toMatchObject({ kind: "complete" });
    // Until it is released, it can be read again.
    await expect.poll(() => failure(read(start())), PATIENCE).toMatchObject({ kind: "operation gone" });
    expect((await run("SELECT count(*) AS n FROM twice")).rows).toEqual([{ n: 1n }]);
  });

  it("keeps settings and views in a session until it is released", async () => {
    const mine = channel.session();
    await mine.setConfig({ "spark.sql.session.timeZone": "Asia/Tokyo" });
    await run("CREATE TEMPORARY VIEW mine AS SELECT 1 AS a", mine);
    expect(await mine.getConfig(["spark.sql.session.timeZone", "no.such.key"])).toEqual({
      "spark.sql.session.timeZone": "Asia/Tokyo",
      "no.such.key": null,
    });
    expect((await run("SELECT a FROM mine", mine)).rows).toEqual([{ a: 1 }]);
    expect(await failure(run("SELECT a FROM mine"))).toMatchObject({ errorClass: "TABLE_OR_VIEW_NOT_FOUND" });
    await mine.release();
    expect(await failure(run("SELECT 1", mine))).toMatchObject({ kind: "session gone" });
    const namesake = channel.session({ id: mine.id, serverSideId: mine.serverSideId });
    expect(await failure(run("SELECT 1", namesake))).toMatchObject({ kind: "session gone" });
    expect(await namesake.interrupt(randomUUID())).toBe(false);
  });

  it("serves twenty sessions at once, each with its own views", async () => {
    const numbers = Array.from({ length: 20 }, (_, number) => number);
    const results = await Promise.all(
      numbers.map(async (number) => {
        const own = channel.session();
        await run(`CREATE TEMPORARY VIEW own AS SELECT ${number} AS a`, own);
        const { rows } = await run("SELECT a FROM own", own);
        await own.release();
        return rows;
      }),
    );
    expect(results).toEqual(numbers.map((number) => [{ a: number }]));
  });

  it("puts exactly the jobs of a statement into the pool that its header names", async () => {
    const count = "SELECT count(*) FROM range(0, 10, 1, 2)";
    await read(session.execute(count, { operationId: randomUUID(), headers: { "headgate-pool-bin": "nightly ä" } }));
    await run(count);
    const [file = ""] = globSync(join(server.folder, "local-*"));
    const jobs = readFileSync(file, "utf8")
      .split("\n")
      .filter((line) => line.includes('"Event":"SparkListenerJobStart"'))
      .map((line) => JSON.parse(line) as { Properties: Record<string, string> }); // as Spark writes them
    const pools = jobs.map(({ Properties: properties }) => properties["spark.scheduler.pool"]);
    expect(new Set(pools)).toEqual(new Set([undefined, "nightly ä"]));
    expect(pools.at(-1)).toBeUndefined();
  });

  describe("that stores results", () => {
    let stored: ConnectChannel;
    beforeAll(() => {
      stored = connect({ storedResults: true });
    });
    afterAll(() => stored.close());

    it.each([
      [
        "a row",
        "SELECT 1 AS a, 'x' AS b, null AS c, array(1, 2) AS d, named_struct('e', 1.5, 'f', date'2024-02-29') AS g",
      ],
      ["a computed row", "SELECT length(uuid()) AS a, 1 AS b, (SELECT max(id) FROM range(3)) AS c"],
      ["no row", "SELECT id FROM range(9) WHERE id > 10"],
      ["rows of a command", "SHOW FUNCTIONS LIKE 'a*'"],
      ["a command without rows", "CREATE TEMPORARY VIEW kept AS SELECT 1 AS a"],
      ["many rows in order", "SELECT id, repeat('x', 100) AS s FROM range(0, 40000, 1, 8)"],
      ["rows in the requested order", "SELECT id FROM range(0, 5000, 1, 4) ORDER BY id DESC"],
    ])("returns %s like a server that does not", async (_, sql) => {
      const [plain, other] = [await run(sql, channel.session()), await run(sql, stored.session())];
      expect(other.columns).toEqual(plain.columns);
      expect(asJson(other.rows)).toBe(asJson(plain.rows)); // rows within rows hold more than their values
      expect(other.events.at(-1)?.kind).toBe("complete");
    });

    it("reports why a statement failed", async () => {
      expect(await failure(run("SELECT 1 / id FROM range(3)", stored.session()))).toMatchObject({
        kind: "failed",
        errorClass: "DIVIDE_BY_ZERO",
        sqlState: "22012",
      });
    });

    it("returns a result of very many small partitions", async () => {
      const sql = "SELECT id, repeat('x', 250000) AS s FROM range(0, 320, 1, 320)";
      const { rowCount, bytes } = await rowsSeen(stored.session().execute(sql, { operationId: randomUUID() }));
      expect(rowCount).toBe(320);
      expect(bytes).toBeGreaterThan(72 * MIB);
    });

    it("returns only the rows of successful attempts of tasks", async () => {
      const own = stored.session();
      await own.setConfig({ "spark.sql.execution.arrow.maxRecordsPerBatch": "500" });
      const before = filesBelow(server.folder);
      const property = randomUUID();
      // The first attempt of the second partition fails at its last row, when its other rows are stored.
      const { rows } = await run(
        `SELECT id, repeat('x', 1000) AS s,
           java_method('java.lang.System', 'getProperty', '${property}') AS attempt,
           CASE WHEN id = 3999 AND java_method('java.lang.System', 'setProperty', '${property}', 'second') = 'null'
             THEN raise_error('the first attempt fails') END AS failed
         FROM range(0, 4000, 1, 2)`,
        own,
      );
      expect(rows.map(({ id }) => Number(id))).toEqual(Array.from({ length: 4000 }, (_, n) => n));
      expect(new Set(rows.slice(2000).map(({ attempt }) => String(attempt)))).toEqual(new Set(["second"]));
      await expect.poll(() => filesBelow(server.folder), PATIENCE).toBe(before);
    });

    it("computes no more than is read, and can be interrupted while the reader pauses", async () => {
      const operationId = randomUUID();
      const own = stored.session();
      const before = filesBelow(server.folder);
      const reading = rowsSeen(own.execute(MANY_ROWS, { operationId }), async (seen) => {
        if (seen !== 1) return;
        await expect.poll(() => filesBelow(server.folder), PATIENCE).toBeGreaterThan(before + 4);
        const asked = performance.now();
        expect(await own.interrupt(operationId)).toBe(true);
        expect(performance.now() - asked).toBeLessThan(30_000);
      });
      expect(await failure(reading)).toMatchObject({ kind: "cancelled" });
    });
  });

  it("holds a result back for a slow reader, outside of our memory", async () => {
    const before = liveBytes();
    let held = 0;
    const { bytes } = await rowsSeen(session.execute(MANY_ROWS, { operationId: randomUUID() }), async (seen) => {
      if (seen !== 1) return;
      for (let round = 0; round < 5; round++) await run("SELECT 1", channel.session());
      held = liveBytes() - before;
    });
    expect(bytes).toBeGreaterThan(40 * MIB);
    expect(held).toBeLessThan(12 * MIB);
  });

  it("is reported as unavailable when it is gone", async () => {
    const operationId = randomUUID();
    const impatient = connect({ patience: { reconnectMs: 500, silenceMs: 10_000 } });
    const reading = read(impatient.session().execute(LONG, { operationId }), async (event) => {
      if (event.kind === "schema") await server.kill();
    });
    expect(await failure(reading)).toMatchObject({ kind: "unavailable" });
    expect(await failure(impatient.ping())).toMatchObject({ kind: "unavailable" });
    impatient.close();
  });

  function connect(options: Partial<Parameters<typeof openConnect>[0]> = {}): ConnectChannel {
    const { host, port, token } = server;
    return openConnect({ host, port, token: new Secret(token), sessionUser: "tester", ...options });
  }

  async function run(sql: string, within = session) {
    return read(within.execute(sql, { operationId: randomUUID() }));
  }
});

/** The tasks take time, but no processor time. */
function sleeping({ tasks, eachMs }: { tasks: number; eachMs: number }): string {
  return `SELECT id, java_method('java.lang.Thread', 'sleep', ${eachMs}L) FROM range(0, ${tasks}, 1, ${tasks})`;
}
/** Takes more than a minute and a half if it is not interrupted. */
const LONG = sleeping({ tasks: 400, eachMs: 500 });
const MANY = 400_000;
const MANY_ROWS = `SELECT id, repeat('x', 100) AS s FROM range(0, ${MANY}, 1, 8)`;

async function read(execution: ConnectExecution, onEvent: (event: ConnectEvent) => unknown = () => undefined) {
  const events: ConnectEvent[] = [];
  for await (const event of execution) {
    events.push(event);
    await onEvent(event);
  }
  const columns = events.flatMap((event) =>
    event.kind === "schema" ? event.fields.map(({ name, type }) => `${name} ${typeText(type)}`) : [],
  );
  const rows = events.flatMap((event) =>
    event.kind === "batch"
      ? tableFromIPC(event.data)
          .toArray()
          .map((row) => ({ ...row.toJSON() }))
      : [],
  );
  return { events, columns, rows };
}

/** Counts rows without storing them. */
async function rowsSeen(execution: ConnectExecution, onBatch: (seen: number) => unknown = () => undefined) {
  const startRows: number[] = [];
  let [rowCount, bytes] = [0, 0];
  for await (const event of execution) {
    if (event.kind !== "batch") continue;
    bytes += event.data.length;
    if (event.part === 0) {
      startRows.push(event.startRow);
      rowCount += event.rowCount;
    }
    await onBatch(startRows.length);
  }
  return { startRows, rowCount, bytes };
}

/** The number of blocks that the server has on disk. */
function filesBelow(folder: string): number {
  return globSync(join(folder, "**", "rdd_*")).length;
}

async function failure(work: Promise<unknown>): Promise<ConnectError> {
  const error: unknown = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof ConnectError)) throw new Error("not refused as expected", { cause: error });
  return error;
}

function asJson(rows: readonly unknown[]): string {
  return JSON.stringify(rows, (_, value: unknown) => (typeof value === "bigint" ? String(value) : value));
}
