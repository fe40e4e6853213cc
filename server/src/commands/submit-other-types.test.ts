import { beforeAll, describe, expect, test } from "vitest";
import { useServer, type AccountClient } from "../../test/support/given.ts";
import { openSecrets } from "./command-secrets.ts";

const given = useServer({ isIsolated: false });

/** The installation's first. */
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

  test("adds fields behind the arguments, but not the same option twice", async () => {
    const account = await given.account();
    const body = { ...copy, sub_command_args: "--src s3://a/b" };
    const { command } = await account.post("/commands", { ...body, dest: "s3://c" });
    expect(command.sub_command_args).toBe("--src s3://a/b '--dest' 's3://c'");
    await account.post("/commands", { ...body, src: "s3://x" }).refused(422, /^src is in sub_command_args already/);
    await account
      .post("/commands", { ...copy, sub_command_args: "--src=s3://a", src: "s3://x" })
      .refused(422, /^src is in/);
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
    expect(openSecrets(given.app.services.keys, account.accountId, secrets)).toEqual({ encryptionKey: ["hunter2"] });
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

  test.each([undefined, "HiveCommand"])("is known by its template, with command_type %s", async (commandType) => {
    const account = await given.account();
    const reply = await account.post("/commands", {
      ...refresh,
      command_type: commandType,
      loader_stable: "1",
      retry: 3,
    });
    expect(reply).toMatchObject({ command_type: "HiveCommand", template: "s3import", status: "waiting" });
    expect(reply.command).toEqual({
      sample: false,
      approx_aggregations: false,
      approx_mode: false,
      md_cmd: null,
      query: "alter table `sales`.`daily` recover partitions",
      loader_table_name: "sales.daily",
      retry: 0,
      script_location: null,
      loader_stable: 1,
    });
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
    const account = await given.account();
    const { command } = await account.post("/commands", {
      command_type: "HiveCommand",
      query: "show tables",
      retry: 2,
    });
    expect(command).toMatchObject({ query: "show tables", loader_table_name: null, script_location: null, retry: 2 });
    expect(Object.keys(command)).toHaveLength(9);
  });

  test("needs a query, a script or the template of a refresh, and no two of them", async () => {
    const account = await given.account();
    await account.post("/commands", { command_type: "HiveCommand" }).refused(422, /^query is required/);
    await account
      .post("/commands", { command_type: "HiveCommand", query: "x", script_location: "s3://b/x.sql" })
      .refused(422, /^query must not be used with script_location/);
  });
});

describe("where nothing isolates programs", () => {
  test("only the first account may submit Spark commands", async () => {
    const body = { command_type: "SparkCommand", cmdline: "x.py" };
    await (await given.account()).post("/commands", body).refused(422, /HEADGATE_ISOLATION/);
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
