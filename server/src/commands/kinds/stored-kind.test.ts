import { beforeAll, describe, expect, test } from "vitest";
import { useServer, type AccountClient } from "../../../test/support/given.ts";
import { stubDriver } from "../../../test/support/stub-driver.ts";
import { readMigrations } from "../../db/migrate.ts";

const given = useServer({ driver: stubDriver });
const PATIENCE = { timeout: 45_000 };
const sql = <Row extends object>(text: string, values: unknown[] = []) =>
  given.app.services.db.system.query<Row>(text, values);

const refresh = { template: "s3import", db_name: "default", hive_table: "orders" };
const spark = { command_type: "SparkCommand" };
const hive = { command_type: "HiveCommand" };
const SUBMISSIONS: [kind: string, body: object][] = [
  ["program", { ...spark, program: "true", language: "python" }],
  ["program", { ...spark, program: "true", language: "py" }],
  ["program", { ...spark, program: "true", language: "scala" }],
  ["program", { ...spark, program: "true", language: "R" }],
  ["program", { ...spark, program: "x.py", language: "command_line" }],
  ["program", { ...spark, cmdline: "x.py" }],
  ["sql", { ...spark, sql: "select 1" }],
  ["sql", { ...spark, program: "select 1", language: "sql" }],
  ["sql", { ...hive, query: "select 1" }],
  ["refresh", refresh],
  ["s3distcp", { command_type: "HadoopCommand", sub_command: "s3distcp", sub_command_args: "--src s3://a" }],
];

let account: AccountClient;
beforeAll(async () => {
  account = await given.account();
});

async function kindOf(id: number): Promise<string | null | undefined> {
  const [row] = await sql<{ kind: string | null }>("select kind from command where id = $1", [id]);
  return row?.kind;
}

/** Submits a command and changes its kind before the node claims it, as if another version had stored it. */
async function submitAs(kind: string | null, body: object): Promise<number> {
  const operator = await given.operator();
  const { nodes } = await operator.get("/api/v2/nodes");
  await operator.put(`/api/v2/nodes/${nodes[0].id}`, { state: "paused" });
  const { id } = await account.post("/commands", body);
  await sql("update command set kind = $2 where id = $1", [id, kind]);
  await operator.put(`/api/v2/nodes/${nodes[0].id}`, { state: "active" });
  return id;
}

describe("the kind of a command", () => {
  test.each(SUBMISSIONS)("is stored as %s for %j, and a rerun has the same kind", async (kind, body) => {
    const { id } = await account.post("/commands", body);
    expect(await kindOf(id)).toBe(kind);
    const rerun = await account.post(`/commands/${id}/rerun`);
    expect(await kindOf(rerun.id)).toBe(kind);
  });

  test.each<[kind: string, body: object]>([
    ["program", { cmdline: "x.py", sql: "" }],
    ["program", { cmdline: "x.py", sql: "", script_location: "", language: "" }],
    ["sql", { sql: "select 1", language: "" }],
    ["sql", { sql: "select 1", script_location: "" }],
  ])("is %s for the Spark command %j: an empty text counts as not given", async (kind, body) => {
    const { id } = await account.post("/commands", { ...spark, ...body });
    expect(await kindOf(id)).toBe(kind);
  });

  test("is sql for a refresh by Spark's statement", async () => {
    const bySpark = await given.account();
    await bySpark.put("/api/v2/accounts", { account: { refresh_engine: "spark" } });
    const { id } = await bySpark.post("/commands", refresh);
    expect(await kindOf(id)).toBe("sql");
    const rerun = await bySpark.post(`/commands/${id}/rerun`);
    expect(await kindOf(rerun.id)).toBe("sql");
  });

  test("is decided again for a rerun", async () => {
    const { id } = await account.post("/commands", { ...spark, program: "true", language: "python" });
    await sql("update command set kind = 'other' where id = $1", [id]);
    const rerun = await account.post(`/commands/${id}/rerun`);
    expect(await kindOf(rerun.id)).toBe("program");
  });

  test("is added by the migration where it is missing, as a submission decides it now, and is otherwise kept", async () => {
    const submitted: [id: number, kind: string][] = [];
    for (const [kind, body] of SUBMISSIONS) submitted.push([(await account.post("/commands", body)).id, kind]);
    const bySpark = await given.account();
    await bySpark.put("/api/v2/accounts", { account: { refresh_engine: "spark" } });
    submitted.push([(await bySpark.post("/commands", refresh)).id, "sql"]);
    const { id: kept } = await account.post("/commands", { ...spark, cmdline: "x.py" });
    await sql("update command set kind = 'other' where id = $1", [kept]);

    const migration = (await readMigrations()).find(({ name }) => name === "kind_of_stored_commands");
    await given.app.services.db.asSystem(async (tx) => {
      // In the same transaction, so that no command ends meanwhile. The migration misses commands that end while it
      // runs; the kind of such a command is derived whenever the command is read.
      await tx.query("update command set kind = null where id = any ($1)", [submitted.map(([id]) => id)]);
      await tx.query(migration?.sql ?? "");
    });
    for (const [id, kind] of [...submitted, [kept, "other"] as const]) expect(await kindOf(id)).toBe(kind);
  });
});

describe("a command that another version has stored", () => {
  test("without a kind runs to its end, has results and jobs, and is published", async () => {
    const id = await submitAs(null, { ...spark, program: "echo hello", language: "python" });
    expect(await account.get(`/commands/${id}?wait_seconds=45`)).toMatchObject({ status: "done" });
    expect(await account.get(`/commands/${id}/results`)).toEqual({ inline: true, results: "hello\n" });
    expect(await account.get(`/commands/${id}/jobs`)).toEqual([]);
    await expect.poll(() => sql("select from command_publishing where command_id = $1", [id]), PATIENCE).toEqual([]);
    expect(await kindOf(id)).toBeNull();
  });

  test("with a kind that this version does not know waits and says so", async () => {
    const id = await submitAs("later", { ...spark, program: "true", language: "python" });
    await expect
      .poll(() => account.get(`/commands/${id}`), PATIENCE)
      .toMatchObject({
        status: "waiting",
        waiting_reason:
          "it waits for a node with a newer version of Headgate: this version cannot run commands of kind later",
      });
  });
});
