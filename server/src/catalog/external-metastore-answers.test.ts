import { afterEach, describe, expect, test, vi } from "vitest";
import { useSharedServer } from "../../test/support/given.ts";
import { startThriftServer, type ThriftServer } from "../../test/thrift/thrift-server.ts";
import { renderReply } from "../engines/hive-thrift/codec/message.ts";
import { HiveClient } from "../engines/hive-thrift/hive-client.ts";
import {
  getAllDatabases,
  getAllTables,
  getDatabase,
  getPartitionNames,
  getPartitionsByNames,
  getTable,
} from "../engines/hive-thrift/hive-functions.ts";
import { Fault } from "../lib/fault.ts";
import { ExternalTables } from "./tables/external-tables.ts";

const opened: { close(): unknown }[] = [];
afterEach(async () => {
  for (const each of opened.splice(0)) await each.close();
});

type Answer = (sequence: number) => Buffer;

const refusal = { failed: { message: `MetaException:\n no ${"very ".repeat(1000)}` } };
const refusals: Record<string, Answer> = {
  [getAllDatabases.name]: (sequence) => renderReply(getAllDatabases, sequence, refusal),
  [getDatabase.name]: (sequence) => renderReply(getDatabase, sequence, refusal),
  [getAllTables.name]: (sequence) => renderReply(getAllTables, sequence, refusal),
  [getTable.name]: (sequence) => renderReply(getTable, sequence, refusal),
  [getPartitionNames.name]: (sequence) => renderReply(getPartitionNames, sequence, refusal),
};

async function serve(answers: Record<string, Answer>): Promise<ThriftServer> {
  const server = await startThriftServer((socket, { name, sequence }) => {
    const answer = answers[name];
    if (answer === undefined) socket.destroy();
    else socket.write(answer(sequence));
  });
  opened.push({ close: () => server.stop() });
  return server;
}

const table = { tableName: "t", dbName: "default", partitionKeys: [{ name: "day", type: "string" }] };
const sensor = { schema: "default", table: "t", columns: [{ column: "day", values: ["1"] }] };

describe("with an external metastore", () => {
  const given = useSharedServer();
  const accountWith = async ({ port }: ThriftServer) => {
    const account = await given.account();
    await account.put("/api/v2/accounts", { account: { metastore_uri: `thrift://127.0.0.1:${port}` } });
    return account;
  };

  test("its error messages are shown to the user, shortened", async () => {
    const account = await accountWith(await serve(refusals));
    const reported = /^The metastore reports an error: get_\w+: MetaException: no [very ]{100,500}$/;
    for (const path of ["/hive", "/hive/default", "/hive/default/t", "/hive/default/t/partitions"]) {
      await account.get(path).refused(503, reported);
    }
    await account.post("/partition_sensor", sensor).refused(503, reported);
    await account.post("/partition_sensor", { ...sensor, wait_seconds: 1 }).refused(503, reported);
  });

  test("a schema that it reports as missing while its database is down is not reported as missing", async () => {
    const missing = (sequence: number): Buffer =>
      renderReply(getDatabase, sequence, { "no-such-object": { message: "sales: connection refused" } });
    const noTables = (sequence: number): Buffer => renderReply(getAllTables, sequence, { success: [] });
    const [listed, failed] = await Promise.all([
      serve({
        [getAllDatabases.name]: (sequence) => renderReply(getAllDatabases, sequence, { success: ["sales"] }),
        [getDatabase.name]: missing,
        [getAllTables.name]: noTables,
      }),
      serve({ ...refusals, [getDatabase.name]: missing, [getAllTables.name]: noTables }),
    ]);
    const account = await accountWith(listed);
    await account.get("/hive/Sales").refused(503, /lists the schema Sales but cannot read it/);
    await account.get("/hive?describe=true").refused(503);
    await account.get("/hive/nowhere").refused(404);
    await (await accountWith(failed)).get("/hive/nowhere").refused(503);
  });

  test("an account lists partitions twice at a time, a few more requests wait, and the rest are refused", async () => {
    const held: (() => void)[] = [];
    let isHolding = true;
    const server = await startThriftServer((socket, { name, sequence }) => {
      if (name === getTable.name) socket.write(renderReply(getTable, sequence, { success: { table } }));
      else if (name === getPartitionsByNames.name)
        socket.write(renderReply(getPartitionsByNames, sequence, { success: [] }));
      else {
        const answer = (): unknown => socket.write(renderReply(getPartitionNames, sequence, { success: ["day=1"] }));
        if (isHolding) held.push(answer);
        else answer();
      }
    });
    opened.push({ close: () => server.stop() });
    const account = await accountWith(server);
    const list = () => account.get("/hive/default/t/partitions").reply();
    const lists = Array.from({ length: 11 }, list);
    const refused = await Promise.race(lists);
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "5"]);
    await vi.waitFor(() => expect(held).toHaveLength(2), { timeout: 45_000 });
    isHolding = false;
    for (const answer of held) answer();
    const statuses = (await Promise.all(lists)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(10);
    expect((await list()).status).toBe(200);
  });

  test("a list of schemas reads only their names, and a page of schemas only the tables of that page", async () => {
    const names = Array.from({ length: 120 }, (_, at) => `s${100 + at}`);
    const server = await serve({
      [getAllDatabases.name]: (sequence) => renderReply(getAllDatabases, sequence, { success: names.toReversed() }),
      [getDatabase.name]: (sequence) => renderReply(getDatabase, sequence, { success: { name: "one" } }),
      [getAllTables.name]: (sequence) => renderReply(getAllTables, sequence, { success: [] }),
    });
    const account = await accountWith(server);
    expect(await account.get("/hive")).toEqual(names);
    expect(server.calls).toEqual(["get_all_databases"]);
    const page = await account.get("/hive?describe=true&per_page=3");
    expect(page.schemas).toEqual({ s100: [], s101: [], s102: [] });
    expect(server.calls.filter((name) => name === getAllTables.name)).toHaveLength(3);
    const long = await account.get("/hive?describe=true&per_page=10000");
    expect(long.paging_info).toEqual({ previous_page: null, next_page: 2, per_page: 100 });
    expect(Object.keys(long.schemas)).toEqual(names.slice(0, 100));
    const last = await account.get("/hive?describe=true&per_page=10000&page=2");
    expect([last.paging_info.next_page, Object.keys(last.schemas)]).toEqual([null, names.slice(100)]);
  });
});

test("an error for one table does not affect questions about another, and each table is looked up once", async () => {
  let tables = 0;
  const server = await serve({
    [getTable.name]: (sequence) =>
      renderReply(getTable, sequence, (tables += 1) === 1 ? refusal : { success: { table } }),
    [getPartitionsByNames.name]: (sequence) => renderReply(getPartitionsByNames, sequence, { success: [] }),
  });
  const client = new HiveClient({ host: "127.0.0.1", port: server.port, checkAddress: () => null, user: "us" });
  opened.push(client);
  const question = (name: string) => ({ schema: "default", table: name, combinations: () => [[["1"]]] });
  const answers = await new ExternalTables(client).hasPartitions(["a", "b", "a", "b", "b"].map(question));
  expect(server.calls.filter((name) => name === getTable.name)).toHaveLength(2);
  // Either of the two calls may arrive first.
  const [one, other] = [answers[0], answers[1]];
  expect([one, other].filter((answer) => answer instanceof Fault)).toHaveLength(1);
  expect(answers).toEqual([one, other, one, other, other]);
  expect([one, other]).toContain(false);
});
