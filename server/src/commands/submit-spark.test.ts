import { describe, expect, test } from "vitest";
import { useSharedServer } from "../../test/support/given.ts";

const given = useSharedServer();

const python = { command_type: "SparkCommand", language: "python", program: "print(1)" };
const KIB = 1024;

describe("POST commands with a Spark command", () => {
  test("answers with the whole command object, as submitted", async () => {
    const account = await given.account();
    const reply = await account.post("/commands/", {
      ...python,
      name: "nightly",
      tags: ["a", "b"],
      label: "default",
      pool: "etl",
      timeout: "80",
      can_notify: "true",
      retry: 3,
      retry_delay: 5,
      arguments: "--conf x=1",
      user_program_arguments: "one 'two three'",
    });
    const userId = reply.user_id;
    const day = reply.created_at.slice(0, 10);
    expect(reply).toEqual({
      id: expect.any(Number),
      uid: userId,
      account_id: account.accountId,
      user_id: expect.any(Number),
      status: "waiting",
      progress: 0,
      command_type: "SparkCommand",
      command: {
        program: "print(1)",
        sql: null,
        cmdline: null,
        script_location: null,
        language: "python",
        arguments: "--conf x=1",
        user_program_arguments: "one 'two three'",
        app_id: null,
        note_id: null,
        retry: 3,
        retry_delay: 5,
      },
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
      submit_time: Math.floor(Date.parse(reply.created_at) / 1000),
      start_time: null,
      end_time: null,
      path: `/tmp/${day}/${account.accountId}/${reply.id}`,
      meta_data: { logs_resource: `commands/${reply.id}/logs`, results_resource: `commands/${reply.id}/results` },
      svc_session_id: null,
      qlog: null,
      resolved_macros: null,
      label: "default",
      name: "nightly",
      pool: "etl",
      timeout: 80,
      template: "generic",
      command_source: "API",
      can_notify: true,
      num_result_dir: 0,
      pid: null,
      saved_query_mutable_id: null,
      waiting_reason: expect.any(String),
    });
    // The order is kept by the store, too.
    const viewed = await account.get(`/commands/${reply.id}`);
    expect(Object.keys(viewed.command)).toEqual(Object.keys(reply.command));
  });

  test("stores the row, its tags, its text and the audit event together", async () => {
    const account = await given.account();
    const { id } = await account.post("/commands", { ...python, tags: ["b", "a", "b"] });
    expect(await stored(id)).toEqual({ command_type: "SparkCommand", retry: 0, tags: ["a", "b"], text: "print(1)" });
    const { audit_events } = await account.get("/api/v2/audit_events");
    expect(audit_events).toMatchObject([{ operation: "command_submit", object: `command/${id}` }]);
  });

  test.each([
    ["program", { program: "x", language: "scala" }],
    ["program", { program: "x", language: "py" }],
    ["program", { program: "x", language: "R" }],
    ["program", { program: "select 1", language: "sql" }],
    ["program", { program: "--class X y.jar", language: "command_line" }],
    ["sql", { sql: "select 1" }],
    ["sql", { sql: "select 1", language: "sql" }],
    ["cmdline", { cmdline: "spark-submit x.py" }],
    ["cmdline", { cmdline: "spark-submit x.py", language: "command_line", retry: 1, retry_delay: 1, pool: "p" }],
    ["program", { program: "x", language: "python", sql: null, cmdline: "", script_location: null }],
  ])("takes %s of %j", async (field, body) => {
    const account = await given.account();
    const { command, id } = await account.post("/commands", { command_type: "SparkCommand", ...body });
    expect(command).toMatchObject({ [field]: Object.values(body)[0] });
    expect((await stored(id)).text).toBe(Object.values(body)[0]);
  });

  const REFUSALS: [Record<string, unknown>, RegExp][] = [
    [{ command_type: undefined }, /^command_type must be one of SparkCommand, HadoopCommand, HiveCommand$/],
    [
      { command_type: "PrestoCommand" },
      /^command_type must be one of .*; commands of other engines are not supported$/,
    ],
    [{ program: undefined }, /^program is required: exactly one of/],
    [{ program: "" }, /^program is required: exactly one of/],
    [{ sql: "select 1" }, /^program must not be used with sql/],
    [{ cmdline: "x" }, /^program must not be used with cmdline/],
    [{ script_location: "s3://b/x.py" }, /^program must not be used with script_location/],
    [{ note_id: "1", program: undefined }, /^note_id/],
    [{ language: undefined }, /^language is required/],
    [{ language: "Python" }, /^language must be one of/],
    [{ language: "r" }, /^language must be one of/],
    [{ language: "python", program: undefined, sql: "select 1" }, /^language must be sql/],
    [{ language: "scala", program: undefined, cmdline: "x" }, /^language must be command_line/],
    [
      { program: undefined, language: undefined, cmdline: "x", arguments: "y" },
      /^arguments must not be used with cmdline/,
    ],
    [{ program: undefined, language: undefined, cmdline: "x", user_program_arguments: "y" }, /^user_program_arguments/],
    [{ program: undefined, language: undefined, cmdline: "x", app_id: 1 }, /^app_id/],
    [{ app_id: 7 }, /^app_id names no app/],
    [{ app_id: "seven" }, /^app_id names no app/],
    [{ label: "unknown" }, /^label names no cluster of the account: unknown\. The labels are default\.$/],
    [{ retry: 4 }, /^retry must be at most 3/],
    [{ retry: -1 }, /^retry must be at least 0/],
    [{ retry_delay: -1 }, /^retry_delay/],
    [{ timeout: 0 }, /^timeout must be at least 1/],
    [{ timeout: "soon" }, /^timeout must be an integer/],
    [{ can_notify: "maybe" }, /^can_notify must be a boolean/],
    [{ name: "x".repeat(256) }, /^name must have at most 255/],
    [{ name: "a&b" }, /^name must not contain/],
    [{ name: "<b>" }, /^name must not contain/],
    [{ name: 'a"b' }, /^name must not contain/],
    [{ name: "a'b" }, /^name must not contain/],
    [{ name: "a\u0007b" }, /^name must not contain control/],
    [{ name: "a\u0000b" }, /^name must not contain U\+0000/],
    [{ name: "a\ud800" }, /^name must be well-formed/],
    [{ tags: ["x".repeat(256)] }, /^tags\[0\] must have at most 255/],
    [{ tags: ["a\nb"] }, /^tags must not contain control/],
    [{ tags: [""] }, /^tags\[0\] must not be empty/],
    [{ tags: "a" }, /^tags must be an array/],
    [{ tags: Array.from({ length: 101 }, (_, at) => `t${at}`) }, /^tags must have at most 100/],
  ];
  test.each(REFUSALS)("refuses %j and stores nothing", async (change, message) => {
    const account = await given.account();
    await account.post("/commands", { ...python, ...change }).refused(422, message);
    expect(await commandCount(account.accountId)).toBe(0);
  });

  test("counts code points, not bytes or UTF-16 units", async () => {
    const account = await given.account();
    await account.post("/commands", { ...python, name: "😀".repeat(255), tags: ["é".repeat(255)] });
    await account.post("/commands", { ...python, name: "😀".repeat(256) }).refused(422, /^name/);
  });

  test("a member who may submit commands can submit a program, another member cannot", async () => {
    const account = await given.account();
    const member = await given.member(account, { groups: ["system-user"] });
    const { user_id } = await member.post("/commands", python);
    expect(user_id).not.toBe((await account.post("/commands", python)).user_id);
    await (await given.member(account)).post("/commands", python).refused(403);
  });

  test("a repeated request with the same key is one command", async () => {
    const account = await given.account();
    const headers = { "Idempotency-Key": "once" };
    const first = await account.post("/commands", python, { headers });
    expect(await account.post("/commands", python, { headers })).toEqual(first);
    expect(await commandCount(account.accountId)).toBe(1);
  });
});

describe("the size of a program", () => {
  test.each([
    ["program", 256, { language: "python" }],
    ["sql", 256, {}],
  ])("%s has %i KiB, and 10 MiB with the feature", async (field, limitKiB, extra) => {
    const body = (bytes: number) => ({ command_type: "SparkCommand", ...extra, [field]: "x".repeat(bytes) });
    const account = await given.account();
    await account.post("/commands", body(limitKiB * KIB));
    await account
      .post("/commands", body(limitKiB * KIB + 1))
      .refused(422, new RegExp(`^${field} needs the feature large_inline_content.*feature-set ${account.accountId}`));
    const large = await given.account({ features: ["large_inline_content"] });
    await large.post("/commands", body(10 * KIB * KIB));
    await large.post("/commands", body(10 * KIB * KIB + 1)).refused(422, new RegExp(`^${field} must have at most`));
  });

  test("a command line has the small limit with every feature", async () => {
    const large = await given.account({ features: ["large_inline_content"] });
    const body = (bytes: number) => ({ command_type: "SparkCommand", cmdline: "x".repeat(bytes) });
    await large.post("/commands", body(256 * KIB));
    await large.post("/commands", body(256 * KIB + 1)).refused(422, /^cmdline must have at most 256 KiB/);
  });

  test("is counted in bytes", async () => {
    const account = await given.account();
    await account.post("/commands", { ...python, program: "é".repeat(128 * KIB + 1) }).refused(422, /^program/);
  });

  test("a body of more than 1 MB is accepted, one of more than 32 MB is not", async () => {
    const account = await given.account({ features: ["large_inline_content"] });
    // Every character of the program becomes six in JSON.
    const rawBody = JSON.stringify({ ...python, program: "@" }).replace("@", String.raw`\u0041`.repeat(4 * KIB * KIB));
    expect((await account.post("/commands", undefined, { rawBody })).command.program).toBe("A".repeat(4 * KIB * KIB));
    await account.post("/commands", undefined, { rawBody: `${" ".repeat(33 * KIB * KIB)}{}` }).refused(413);
  });
});

async function stored(id: number): Promise<Record<string, unknown>> {
  const [row] = await given.app.services.db.system.query<Record<string, unknown>>(
    `select command_type, retry, array(select tag from command_tag where command_id = c.id order by 1) as tags,
            (select resolved from command_source_text where command_id = c.id) as text
       from command c where id = $1`,
    [id],
  );
  return row ?? {};
}

async function commandCount(accountId: number): Promise<number | undefined> {
  const [row] = await given.app.services.db.system.query<{ count: number }>(
    "select count(*) as count from command where account_id = $1",
    [accountId],
  );
  return row?.count;
}
