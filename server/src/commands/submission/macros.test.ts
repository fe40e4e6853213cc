import { describe, expect, test } from "vitest";
import { isExhaustive } from "../../../test/support/exhaustive.ts";
import { useSharedServer } from "../../../test/support/given.ts";
import { fillMacros } from "./macros.ts";

const given = useSharedServer();
const python = { command_type: "SparkCommand", language: "python" };

describe("$name$", () => {
  const values = new Map([
    ["a", "1"],
    ["b", "$a$"],
  ]);
  test.each([
    ["$a$", "1"],
    ["x$a$y$a$z", "x1y1z"],
    ["$unknown$", "$unknown$"],
    ["$unknown$a$", "$unknown1"],
    ["$b$", "$a$"],
    ["$$a$$", "$1$"],
    ["$a", "$a"],
    ["$ a $", "$ a $"],
  ])("%s becomes %s", (text, filled) => {
    expect(fillMacros(text, values, "program", 100)).toBe(filled);
  });

  test("is not filled beyond the limit", () => {
    const long = new Map([["a", "x".repeat(60_000)]]);
    // The result would have 600 MB, more than a string can hold, so the size must be checked before the text is built.
    expect(() => fillMacros("$a$".repeat(10_000), long, "program", 1_000_000)).toThrow(/program must have at most/);
  });
});

/** Each one uses up a sandbox process. */
const slowRefusals: [unknown, RegExp][] = isExhaustive
  ? [
      [[{ a: "null" }], /^macros\.a cannot be evaluated/],
      [[{ a: "(() => { for (;;) {} })()" }], /^macros\.a cannot be evaluated: it took too long/],
    ]
  : [];

describe("POST commands with macros", () => {
  test("fills them into the program; the command shows the submitted text and the values", async () => {
    const account = await given.account();
    const reply = await account.post("/commands", {
      ...python,
      program: "print('$day$', $n$, '$unknown$')",
      arguments: "--name $day$",
      macros: [{ day: "new Date(Date.UTC(2026, 0, 31)).toISOString().slice(0, 10)" }, { n: "1 + 2" }],
    });
    expect(reply.command).toMatchObject({ program: "print('$day$', $n$, '$unknown$')", arguments: "--name $day$" });
    expect(JSON.parse(reply.resolved_macros)).toEqual([{ day: "2026-01-31" }, { n: "3" }]);
    expect(await textOf(reply.id)).toBe("print('2026-01-31', 3, '$unknown$')");
    const viewed = await account.get(`/commands/${reply.id}?include_query_properties=true`);
    expect(viewed).toMatchObject({ tags: [], comments: [], macros: [{ day: expect.any(String) }, { n: "1 + 2" }] });
  });

  test("accepts JSON text, several in one object, and expressions that use earlier ones", async () => {
    const account = await given.account();
    const macros = JSON.stringify([{ a: "2", b: "a * 3" }, { c: "'x' + b" }]);
    const { id } = await account.post("/commands", { command_type: "SparkCommand", sql: "select '$c$'", macros });
    expect(await textOf(id)).toBe("select 'x6'");
  });

  test("text needs its own quotes", async () => {
    const account = await given.account();
    const body = { ...python, program: "$a$" };
    const { id } = await account.post("/commands", { ...body, macros: [{ a: '"quoted"' }] });
    expect(await textOf(id)).toBe("quoted");
    await account
      .post("/commands", { ...body, macros: [{ a: "unquoted words" }] })
      .refused(422, /^macros\.a cannot be evaluated/);
  });

  test.each<[unknown, RegExp]>([
    [{ a: "1" }, /^macros must be an array/],
    ['{"a":"1"}', /^macros must be an array/],
    ["[", /^macros must be JSON/],
    [["a"], /^macros\[0\] must be an object/],
    ['["a"]', /^macros must be an array of objects/],
    [[{ "a b": "1" }], /^macros must have variable names/],
    [[{ a: {} }], /^macros must have a non-empty text/],
    [[{ a: "" }], /^macros must have a non-empty text/],
    [[{ a: "1" }, { a: "2" }], /^macros must not define a twice/],
    [[{ a: "1 +" }], /^macros\.a cannot be evaluated/],
    [[{ a: "process.exit()" }], /^macros\.a cannot be evaluated: 'process' is not defined/],
    // `macro-sandbox.test.ts` tries further expressions.
    ...slowRefusals,
    [Array.from({ length: 101 }, (_, at) => ({ [`m${at}`]: "1" })), /^macros must have at most 100/],
  ])("refuses %j and stores nothing", async (macros, message) => {
    const account = await given.account();
    await account.post("/commands", { ...python, program: "$a$", macros }).refused(422, message);
    expect((await account.get("/commands")).commands).toEqual([]);
  });

  test("the filled text has the same limit as the text", async () => {
    const account = await given.account();
    await account
      .post("/commands", { ...python, program: "$a$".repeat(10_000), macros: [{ a: "'x'.repeat(1000)" }] })
      .refused(422, /^program must have at most 262144 bytes after its macros are filled in/);
  });

  test("a rerun uses the values of the first run", async () => {
    const account = await given.account();
    const first = await account.post("/commands", { ...python, program: "$a$", macros: [{ a: "Math.random()" }] });
    const again = await account.post(`/commands/${first.id}/rerun`);
    expect(again.resolved_macros).toBe(first.resolved_macros);
    expect(await textOf(again.id)).toBe(await textOf(first.id));
  });
});

async function textOf(id: number): Promise<string | undefined> {
  const [row] = await given.app.services.db.system.query<{ resolved: string }>(
    "select resolved from command_source_text where command_id = $1",
    [id],
  );
  return row?.resolved;
}
