import { describe, expect, test } from "vitest";
import { cloneDatabase } from "../../test/support/test-database.ts";
import { openDatabase } from "./database.ts";
import { describeError } from "../lib/log.ts";

describe("a logged error", () => {
  test.each([
    ["select $1::bigint", "22P02"],
    ["select $1::inet", "22P02"],
    ["select ('{\"a\":' || $1 || '}')::json", "22P02"],
    ["insert into app_user (email) values ($1), ($1)", "23505"],
    ["insert into account (name, plan) values ($1, null)", "23502"],
    ["do $$ begin raise exception 'stopped'; end $$", "P0001"],
  ])("of %s has the code and no values", async (sql, code) => {
    const database = await cloneDatabase();
    const db = openDatabase({ ...database.connection, max: 1 });
    try {
      const values = sql.includes("$1") ? ['hush "hush" hush'] : [];
      const error = await db.system.query(sql, values).catch((caught: unknown) => caught);
      const text = JSON.stringify(describeError(new Error("outer", { cause: error })));
      expect(JSON.parse(text)).toMatchObject({ type: "Error", message: "outer", cause: { code } });
      expect(text).not.toContain("hush");
    } finally {
      await db.close();
      await database.drop();
    }
  });

  test("has its stack, and other thrown values are not logged", () => {
    const frames = expect.stringMatching(/^at .*logged-errors\.test\.ts/);
    expect(describeError(new TypeError("no such thing"))).toEqual({
      type: "TypeError",
      message: "no such thing",
      stack: frames,
    });
    expect(describeError("secret")).toBe("string");
  });
});
