import { beforeAll, describe, expect, test } from "vitest";
import { useServer, type AccountClient } from "../../test/support/given.ts";
import { openSecrets } from "./credential-masking/command-secrets.ts";

const given = useServer({ isIsolated: false });

/** The first account of the installation. */
let first: AccountClient;
beforeAll(async () => {
  first = await given.account();
});

describe("POST commands with an S3DistCp copy", () => {
  const copy = { command_type: "HadoopCommand", sub_command: "s3distcp" };

  test("keeps the arguments byte for byte", async () => {
    const account = await given.account();
    const args = `--src s3://a/b/  --dest\ts3://c/ --srcPattern '.*\\.gz' --groupBy "x(y)"`;
    const reply = await account.post("/commands", { ...copy, sub_command_args: args, tags: ["copy"], timeout: 60 });
    expect(reply).toMatchObject({ command_type: "HadoopCommand", status: "waiting", progress: 0, template: "generic" });
    expect(reply.command).toEqual({ sub_command: "s3distcp", sub_command_args: args });
  });

  test("builds the arguments from fields, each word quoted", async () => {
    const account = await given.account();
    const { command } = await account.post("/commands", {
      ...copy,
      src: "s3://a/b",
      dest: "s3://c/it's",
      targetSize: "64",
      deleteOnSuccess: true,
      numberFiles: false,
    });
    expect(command.sub_command_args).toBe(
      String.raw`'--src' 's3://a/b' '--dest' 's3://c/it'\''s' '--targetSize' '64' '--deleteOnSuccess'`,
    );
  });

  test("appends fields to the arguments, but refuses the same option twice", async () => {
    const account = await given.account();
    const body = { ...copy, sub_command_args: "--src s3://a/b" };
    const { command } = await account.post("/commands", { ...body, dest: "s3://c" });
    expect(command.sub_command_args).toBe("--src s3://a/b '--dest' 's3://c'");
    await account
      .post("/commands", { ...body, src: "s3://x" })
      .refused(422, /^src must not be given twice: it is also in sub_command_args/);
    await account
      .post("/commands", { ...copy, sub_command_args: "--src=s3://a", src: "s3://x" })
      .refused(422, /^src must not be given twice/);
  });

  test.each([
    ["--encryptionKey hunter2 --src s3://a", "--encryptionKey ******** --src s3://a"],
    ["--encryptionKey=hunter2", "--encryptionKey=********"],
    ["--src  'a b' --encryptionKey 'hunter2'\t--dest c", "--src  'a b' --encryptionKey ********\t--dest c"],
    [`--encryptionKey "hunt"'er2'  --x`, "--encryptionKey ********  --x"],
    ["'--encryption''Key' hunter2", "'--encryption''Key' ********"],
  ])("never shows or stores the key of %s in the clear", async (args, shown) => {
    const account = await given.account();
    const reply = await account.post("/commands", { ...copy, sub_command_args: args });
    expect(reply.command.sub_command_args).toBe(shown);
    const { text, secrets } = await storedText(reply.id);
    expect(text).not.toContain("hunt");
    expect(openSecrets(given.app.services.keys, account.accountId, secrets)).toEqual({ sub_command_args: args });
  });

  test("masks the key given as a field, too", async () => {
    const account = await given.account();
    const { command, id } = await account.post("/commands", { ...copy, encryptionKey: "hunter2" });
    expect(command.sub_command_args).toBe("'--encryptionKey' ********");
    expect((await storedText(id)).text).not.toContain("hunter2");
  });

  test.each([
    [{ sub_command: "jar" }, /^sub_command must be s3distcp/],
    [{ sub_command: undefined }, /^sub_command must be s3distcp/],
    [{ targetSize: "big" }, /^targetSize must be an integer/],
    [{ deleteOnSuccess: "perhaps" }, /^deleteOnSuccess must be a boolean/],
    [{ sub_command_args: "--src 'open" }, /^sub_command_args/],
    [{ template: "s3import" }, /^command_type must be HiveCommand/],
  ])("refuses %j", async (change, message) => {
    const account = await given.account();
    await account.post("/commands", { ...copy, sub_command_args: "--src a --dest b", ...change }).refused(422, message);
  });

  test("leaves mistakes in the arguments to the run", async () => {
    const account = await given.account();
    await account.post("/commands", { ...copy, sub_command_args: "--no-such-option" });
  });
});

describe("POST commands with a table refresh", () => {
  const refresh = { template: "s3import", db_name: "sales", hive_table: "daily" };
  const refreshed = {
    sample: false,
    approx_aggregations: false,
    approx_mode: false,
    md_cmd: null,
    query: "alter table `sales`.`daily` recover partitions",
    loader_table_name: "sales.daily",
    retry: 0,
    script_location: null,
    loader_stable: 1,
  };
  const enginesOf = async (ids: readonly number[]): Promise<unknown[]> => {
    const { system } = given.app.services.db;
    const rows = await system.query<{ engine: string }>(
      "select options ->> 'engine' as engine from command where id = any ($1) order by id",
      [ids],
    );
    return rows.map(({ engine }) => engine);
  };

  test.each([undefined, "HiveCommand"])("is recognised by its template, with command_type %s", async (commandType) => {
    const account = await given.account();
    const reply = await account.post("/commands", {
      ...refresh,
      command_type: commandType,
      loader_stable: "1",
      retry: 3,
    });
    expect(reply).toMatchObject({ command_type: "HiveCommand", template: "s3import", status: "waiting" });
    expect(reply.command).toEqual(refreshed);
    expect(Object.keys(reply.command)).toEqual(Object.keys(refreshed));
    const [seen] = (await account.get("/commands")).commands;
    expect(seen).toMatchObject({ id: reply.id, command_type: "HiveCommand", template: "s3import" });
    expect(JSON.stringify(seen.command)).toBe(JSON.stringify(refreshed));
  });

  test("is rerun by the engine that the account had when it was submitted", async () => {
    const account = await given.account();
    const { id, command } = await account.post("/commands", { ...refresh, loader_stable: true });
    expect(command).toEqual(refreshed);
    await account.put("/api/v2/accounts", { refresh_engine: "spark" });
    const again = await account.post(`/commands/${id}/rerun`);
    expect(again.command).toEqual(refreshed);
    expect(await enginesOf([id, again.id])).toEqual(["native", "native"]);
  });

  test("by Spark is refused where nothing isolates the accounts' programs", async () => {
    const account = await given.account();
    await account.put("/api/v2/accounts", { refresh_engine: "spark" });
    await account.post("/commands", refresh).refused(422, /^command_type HiveCommand .*HEADGATE_ISOLATION/);
  });

  test("by Spark is a statement, even if the account has changed its engine since", async () => {
    await first.put("/api/v2/accounts", { refresh_engine: "spark" });
    const { id, command } = await first.post("/commands", { ...refresh, loader_stable: 1 });
    await first.put("/api/v2/accounts", { refresh_engine: "native" });
    expect(command).toEqual(refreshed);
    const again = await first.post(`/commands/${id}/rerun`);
    expect(await enginesOf([id, again.id])).toEqual(["spark", "spark"]);
    const { system } = given.app.services.db;
    const texts = await system.query("select resolved from command_source_text where command_id = any ($1)", [
      [id, again.id],
    ]);
    expect(texts).toEqual([{ resolved: refreshed.query }, { resolved: refreshed.query }]);
  });

  test.each([
    [{ db_name: undefined }, /^db_name is required/],
    [{ hive_table: undefined }, /^hive_table is required/],
    [{ db_name: "a`b" }, /^db_name must have/],
    [{ hive_table: "1st" }, /^hive_table must have/],
    [{ hive_table: "x".repeat(129) }, /^hive_table must have/],
    [{ loader_stable: "often" }, /^loader_stable must be a boolean/],
    [{ loader_stable_mult: "long" }, /^loader_stable_mult must be an integer/],
    [{ command_type: "SparkCommand" }, /^command_type must be HiveCommand/],
  ])("refuses %j", async (change, message) => {
    const account = await given.account();
    await account.post("/commands", { ...refresh, ...change }).refused(422, message);
  });
});

describe("POST commands with a Hive query", () => {
  test("has the keys of a Hive command", async () => {
    const { id, command } = await first.post("/commands", {
      command_type: "HiveCommand",
      query: "show tables",
      retry: 2,
    });
    const expected = {
      sample: false,
      approx_aggregations: false,
      approx_mode: false,
      md_cmd: null,
      query: "show tables",
      loader_table_name: null,
      retry: 2,
      script_location: null,
      loader_stable: 0,
    };
    expect(JSON.stringify(command)).toBe(JSON.stringify(expected));
    const { commands } = await first.get("/commands?command_type=HiveCommand&per_page=100");
    const seen = commands.find((each: { id: number }) => each.id === id);
    expect(seen).toMatchObject({ command_type: "HiveCommand", template: "generic", label: "default" });
    expect(JSON.stringify(seen.command)).toBe(JSON.stringify(expected));
  });

  test.each([
    [{ retry: 4 }, /^retry must be/],
    [{ query: "x".repeat(256 * 1024 + 1) }, /^query .*large_inline_content/],
    [{ query: "select $x$", macros: [{ x: "no.such.thing" }] }, /^macros/],
    [{ query: undefined, script_location: "hdfs://h/x.sql" }, /^script_location .*hdfs_http_address/],
    [
      { query: undefined, script_location: "s3://bucket/x.sql" },
      /^script_location .*no keys for S3: set storage_access_key/,
    ],
    [{ query: undefined, script_location: "ftp://b/x.sql" }, /^script_location cannot be read/],
  ])("refuses %j and stores nothing", async (change, message) => {
    const { system } = given.app.services.db;
    const count = (): Promise<unknown[]> => system.query("select id from command");
    const before = (await count()).length;
    await first.post("/commands", { command_type: "HiveCommand", query: "select 1", ...change }).refused(422, message);
    expect(await count()).toHaveLength(before);
  });

  test("needs a query, a script or the template of a refresh, and no two of them", async () => {
    const account = await given.account();
    await account.post("/commands", { command_type: "HiveCommand" }).refused(422, /^query is required/);
    await account
      .post("/commands", { command_type: "HiveCommand", query: "x", script_location: "s3://bucket/x.sql" })
      .refused(422, /^query must not be used with script_location/);
  });
});

describe("where nothing isolates programs", () => {
  test.each([
    { command_type: "SparkCommand", cmdline: "x.py" },
    { command_type: "HiveCommand", query: "select 1" },
  ])("only the first account may submit %j", async (body) => {
    await (
      await given.account()
    )
      .post("/commands", body)
      .refused(422, new RegExp(`^command_type ${body.command_type} .*HEADGATE_ISOLATION`));
    const { id } = await first.post("/commands", body);
    await first.post(`/commands/${id}/rerun`);
  });
});

async function storedText(id: number): Promise<{ text: string; secrets: Buffer }> {
  const [row] = await given.app.services.db.system.query<{ text: string; secrets: Buffer }>(
    "select c::text as text, secrets from command c where id = $1",
    [id],
  );
  if (row === undefined) throw new Error("no such command");
  return row;
}
