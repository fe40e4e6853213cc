import { assert, constant, constantFrom, array, oneof, property, tuple, string } from "fast-check";
import { describe, expect, it } from "vitest";
import { splitLongScript, splitStatements } from "./split-statements.ts";

const texts = (script: string): string[] => splitStatements(script).map(({ text }) => text);

describe("splitStatements", () => {
  it.each<[string, string, string[]]>([
    ["splits at semicolons", "select 1; select 2", ["select 1", "select 2"]],
    ["drops the semicolon at the end, and empty statements", ";; select 1;\n;\t;", ["select 1"]],
    ["returns no statement for an empty script", "  \n", []],
    ["does not split strings", `select ';' , "a;b"; select 2`, [`select ';' , "a;b"`, "select 2"]],
    ["recognises doubled quotes", `select 'it''s;', "a"";"; x`, [`select 'it''s;', "a"";"`, "x"]],
    ["recognises escaped quotes", String.raw`select '\';', "\";"; x`, [String.raw`select '\';', "\";"`, "x"]],
    ["recognises an escaped backslash before the end", String.raw`select '\\'; x`, [String.raw`select '\\'`, "x"]],
    [
      "ignores escapes in raw strings",
      String.raw`select r'\'; x; R"\"; y`,
      [String.raw`select r'\'`, "x", String.raw`R"\"`, "y"],
    ],
    ["recognises no raw string after a name", String.raw`select bar'\';'; x`, [String.raw`select bar'\';'`, "x"]],
    ["does not split quoted names", "select `a;b``;'`; x", ["select `a;b``;'`", "x"]],
    ["ignores other quotes inside quotes", `select "'", '"', '\`'; x`, [`select "'", '"', '\`'`, "x"]],
    ["keeps comments and ignores semicolons in them", "select 1 -- a; 'b\n; x", ["select 1 -- a; 'b", "x"]],
    ["continues a comment after a backslash", "select 1 -- a\\\n; b\n; x", ["select 1 -- a\\\n; b", "x"]],
    ["ends a comment at a carriage return", "select 1 -- a\r; x", ["select 1 -- a", "x"]],
    ["recognises nested comments", "/* a; /* b; */ c; */ select 1; x", ["/* a; /* b; */ c; */ select 1", "x"]],
    ["treats a hint as ordinary text", "select /*+ broadcast(a) */ 1; x", ["select /*+ broadcast(a) */ 1", "x"]],
    ["treats a hint inside a comment as no nested comment", "/* /*+ a */ select 1; x", ["/* /*+ a */ select 1", "x"]],
    ["recognises no comment in a string", "select '--', '/*'; x", ["select '--', '/*'", "x"]],
    ["recognises no comment in a path", "select * from hdfs://a--b/c; x", ["select * from hdfs://a--b/c", "x"]],
    ["drops parts with only comments", "-- a\n; /* b */ ; select 1; -- the end", ["select 1"]],
    ["passes an unclosed string on, for Spark to refuse", "select 1; select 'a; b", ["select 1", "select 'a; b"]],
    ["passes an unclosed comment on", "select 1; /* a; b", ["select 1", "/* a; b"]],
    [
      "splits after the END of a CASE expression",
      "select case a when 1 then 2 end; x",
      ["select case a when 1 then 2 end", "x"],
    ],
    ["splits where BEGIN is only a name", "select begin; end", ["select begin", "end"]],
  ])("%s", (_name, script, expected) => {
    expect(texts(script)).toEqual(expected);
  });

  it("reports the offset of each statement", () => {
    const script = " select 1 ;\n\n-- two\nselect 2;";
    expect(splitStatements(script)).toEqual([
      { text: "select 1", start: 1 },
      { text: "-- two\nselect 2", start: 13 },
    ]);
  });
});

/** Each text is a single statement. */
const scripts = [
  "BEGIN END",
  "begin select 1; end",
  "BEGIN NOT ATOMIC SELECT 1; END",
  "BEGIN DECLARE x INT = 1; SET x = x + 1; SELECT x; END",
  "BEGIN BEGIN SELECT 1; END; SELECT 2; END",
  "BEGIN l: BEGIN SELECT 1; END l; SELECT 2; END",
  "BEGIN `l`: BEGIN SELECT 1; END `l`; END",
  "BEGIN IF a = 1 THEN SELECT 1; ELSEIF a = 2 THEN SELECT 2; ELSE BEGIN SELECT 3; END; END IF; END",
  "BEGIN IF CASE WHEN a THEN b ELSE c END THEN SELECT 1; END IF; SELECT 2; END",
  "BEGIN CASE a WHEN 1 THEN SELECT 1; WHEN 2 THEN SELECT 2; ELSE SELECT 3; END CASE; SELECT 4; END",
  "BEGIN CASE WHEN a = CASE WHEN b THEN 1 END THEN SELECT 1; END CASE; SELECT 4; END",
  "BEGIN WHILE a < 3 DO SET a = a + 1; IF a = 2 THEN LEAVE l; END IF; END WHILE; END",
  "BEGIN l: WHILE a < 3 DO ITERATE l; END WHILE l; SELECT 1; END",
  "BEGIN REPEAT SET a = a + 1; UNTIL a > 3 END REPEAT; SELECT 1; END",
  "BEGIN REPEAT SET a = a + 1; UNTIL CASE WHEN a THEN b END END REPEAT; SELECT 1; END",
  "BEGIN l: LOOP LOOP LEAVE l; END LOOP; END LOOP l; SELECT 1; END",
  "BEGIN FOR r AS SELECT case when a then b end as c FROM t DO SELECT r.c; END FOR; SELECT 1; END",
  "BEGIN FOR SELECT 1 DO FOR SELECT 2 DO SELECT 3; END FOR; END FOR; END",
  "BEGIN DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN SELECT 1; END; SELECT 1 / 0; END",
  "BEGIN DECLARE CONTINUE HANDLER FOR NOT FOUND SET x = 1; SELECT 1; END",
  "BEGIN DECLARE c CONDITION FOR SQLSTATE '12345'; SELECT 1; END",
  "BEGIN SELECT CASE WHEN a THEN CASE b WHEN 1 THEN 2 END END AS end, 1 end; SELECT t.case, t.end; END",
  "BEGIN SELECT if(a, b, c), repeat('x', 2) FROM begin; DROP TABLE IF EXISTS t; END",
  "BEGIN ANALYZE TABLE t COMPUTE STATISTICS FOR COLUMNS a; SELECT substring(a FROM 1 FOR 2); END",
  "BEGIN SELECT v:a.b, x::int FROM t; CREATE TABLE IF NOT EXISTS t AS SELECT 1; END",
  "BEGIN SELECT 1 -- END;\n; /* END; */ SELECT 'END;'; END",
];

describe("a script", () => {
  it.each(scripts)("is one statement: %s", (script) => {
    expect(texts(`select 0; ${script}; select 9;`)).toEqual(["select 0", script, "select 9"]);
  });

  it("extends to the end of the text if it is not closed", () => {
    expect(texts("select 0; BEGIN SELECT 1; SELECT 2;")).toEqual(["select 0", "BEGIN SELECT 1; SELECT 2;"]);
  });
});

const filling = oneof(constantFrom(" ", "\n", "\t", "-- c;\n", "/* ; /* ' */ */", " -- \"'`\n"), constant(""));
const plainPart = oneof(
  constantFrom("select", "1", "a.b", "case when a then b end", "(", ")", "--x\n", "/*;*/", "r'\\'", 'R";"', "-", "/"),
  string({ unit: constantFrom("a", ";", " ", '"', "`", "-", "/", "*", "''", String.raw`\'`) }).map((s) => `'${s}'`),
  string({ unit: constantFrom("a", ";", " ", "'", "`", "-", "/", "*", '""') }).map((s) => `"${s}"`),
  string({ unit: constantFrom("a", ";", " ", "'", '"', "-", "\\", "``") }).map((s) => `\`${s}\``),
);
const plainStatement = array(plainPart, { minLength: 1, maxLength: 8 }).map((parts) => `s ${parts.join(" ")} t`);
const statement = oneof({ weight: 3, arbitrary: plainStatement }, { weight: 1, arbitrary: constantFrom(...scripts) });

describe("a random script", () => {
  it("is split into the statements that it was built from", () => {
    const parts = array(tuple(statement, filling, filling), { maxLength: 6 });
    assert(
      property(parts, (list) => {
        const script = list.map(([text, before, after]) => `${before} ${text} ${after};`).join("");
        const found = splitStatements(script);
        expect(found).toHaveLength(list.length);
        for (const [at, { text, start }] of found.entries()) {
          expect(script.slice(start, start + text.length)).toBe(text);
          expect(text).toContain(list[at]?.[0]);
        }
      }),
      { numRuns: 500 },
    );
  });

  it("is split like by Spark's own command line, within the language that this knows", () => {
    const unit = constantFrom("ab", " ", "; ", "'c; '", '"d; "', "-- e; \n", "/* ; */ ", "/* ", "'", '"', "\n");
    assert(
      property(string({ unit, maxLength: 40 }), (script) => {
        expect(texts(` ${script}`)).toEqual(cutBySparkCli(` ${script}`));
      }),
      { numRuns: 2000 },
    );
  });
});

/**
 * Spark's `SparkSQLCLIDriver.splitSemiColon`. It does not know quoted names, raw strings and SQL scripts, and it
 * ignores the first character of a statement, so the test puts a space there.
 */
function cutBySparkCli(line: string): string[] {
  const found: string[] = [];
  let [single, double, simpleComment, escape, leaving, isStatement] = [false, false, false, false, false, false];
  let [level, begin] = [0, 0];
  for (let index = 0; index < line.length; index++) {
    if (leaving) level -= 1;
    leaving = false;
    const [character, next, last] = [line[index] ?? "", line[index + 1], line[index - 1]];
    const inComment = simpleComment || level > 0;
    const inQuotes = single || double;
    if (character === "'" && !inComment) {
      if (!escape && !double) single = !single;
    } else if (character === '"' && !inComment) {
      if (!escape && !single) double = !double;
    } else if (character === "-") {
      if (!inQuotes && !inComment && next === "-") simpleComment = true;
    } else if (character === ";") {
      if (!inQuotes && !inComment) {
        if (isStatement) found.push(line.slice(begin, index));
        begin = index + 1;
        isStatement = false;
      }
    } else if (character === "\n") {
      if (!escape) simpleComment = false;
    } else if (character === "/" && !simpleComment && !inQuotes) {
      if (level > 0 && last === "*") leaving = true;
      else if (next === "*") level += 1;
    }
    escape = !escape && character === "\\";
    isStatement ||= !(simpleComment || level > 0) && index > begin && character.trim() !== "";
  }
  const closed = leaving && level === 1;
  if (!closed && (isStatement || level > 0)) found.push(line.slice(begin));
  return found.map((text) => text.trim()).filter((text) => text !== "");
}

it("a long script is split in the same way without blocking the event loop", async () => {
  const script = "select 'a;b'; begin select 1; end; ".repeat(10_000);
  let turns = 0;
  const count = (): void => {
    turns += 1;
    timer = setImmediate(count);
  };
  let timer = setImmediate(count);
  const statements = await splitLongScript(script);
  clearImmediate(timer);
  expect(statements).toEqual(splitStatements(script));
  expect(turns).toBeGreaterThan(2);
});
