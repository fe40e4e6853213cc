import { beforeAll, describe, expect, test } from "vitest";
import { useSharedServer, type AccountClient } from "../../test/support/given.ts";
import { sendAs } from "../../test/support/raw-request.ts";
import { pythonFile, scalaFile, type Ipynb } from "../../test/support/ipynb-files.ts";

const given = useSharedServer();

const EMPTY: Ipynb = { nbformat: 4, nbformat_minor: 5, metadata: {}, cells: [] };
const code = (fields: Record<string, unknown>): Ipynb => ({
  ...EMPTY,
  cells: [{ cell_type: "code", source: "", metadata: {}, outputs: [], execution_count: null, ...fields }],
});

describe("an imported .ipynb file", () => {
  test("shows its cells as paragraphs", async () => {
    const account = await given.account();
    const notebook = await account.post("/notebooks/import", {
      name: "sales",
      location: "Common",
      notebook: pythonFile(),
    });
    expect(notebook).toMatchObject({ name: "sales", location: "Common", note_type: "spark", label: null });
    expect(notebook.paragraphs).toEqual([
      { language: "markdown", text: "# Sales\n![chart](attachment:chart.png)" },
      { language: "python", text: "import pandas as pd\n\ndf.plot()" },
      { language: "sql", text: "select 1" },
      { language: "python", text: "1 / 0" },
      { language: "raw", text: "..note::\n" },
      { language: "python", text: "" },
    ]);
    expect((await account.get(`/notebooks/${notebook.id}`)).paragraphs).toEqual(notebook.paragraphs);
  });

  test.each([
    ["with all kinds of cells and outputs", pythonFile()],
    ["of a Spark kernel", scalaFile()],
    ["without cells", EMPTY],
    ["with fields that the format does not know", { ...code({ future: [1, null] }), extra: { a: null } }],
  ])("is exported unchanged: a file %s", async (_kind, file) => {
    const account = await given.account();
    const { id } = await account.post("/notebooks/import", { name: "Verkäufe (1)", notebook: file });
    const { headers, body, text } = await account.get(`/notebooks/${id}/export`).reply();
    expect(body).toEqual(file);
    expect(text.includes('"__proto__":{"x":1}')).toBe(JSON.stringify(file).includes('"__proto__":{"x":1}'));
    expect(headers.get("content-disposition")).toBe("attachment; filename*=UTF-8''Verk%C3%A4ufe%20%281%29.ipynb");
  });

  test("keeps its outputs when it is cloned, renamed and moved", async () => {
    const account = await given.account();
    const { id } = await account.post("/notebooks/import", { name: "a", notebook: pythonFile() });
    const clone = await account.put(`/notebooks/${id}/clone`, { name: "b" });
    await account.put(`/notebooks/${clone.id}`, { name: "c" });
    await account.put(`/notebooks/${clone.id}/move`, { location: "Common" });
    expect(await account.get(`/notebooks/${clone.id}/export`)).toEqual(pythonFile());
  });

  test("keeps the outputs of each paragraph when paragraphs are edited, added and removed", async () => {
    const account = await given.account();
    const { id, paragraphs } = await account.post("/notebooks/import", { name: "a", notebook: pythonFile() });
    const [intro, plot, query, , raw, empty] = paragraphs;
    const added = { language: "scala", text: "val x = 1" };
    const edited = { ...plot, text: "df.plot(kind='bar')" };
    await account.put(`/notebooks/${id}`, { paragraphs: [intro, edited, query, raw, empty, added] });
    const { cells } = await account.get(`/notebooks/${id}/export`);
    const [introCell, plotCell, queryCell] = pythonFile().cells;
    expect(cells.slice(0, 3)).toEqual([introCell, { ...plotCell, source: ["df.plot(kind='bar')"] }, queryCell]);
    expect(cells.at(-1)).toMatchObject({ cell_type: "code", source: ["%%scala\n", "val x = 1"] });
    const ids = cells.map((cell: { id: string }) => cell.id);
    expect(new Set(ids).size).toBe(6);
  });

  test("gives new paragraphs unused cell ids, after all paragraphs were removed", async () => {
    const account = await given.account();
    const notebook = code({ source: "1", id: "paragraph-7" });
    const { id } = await account.post("/notebooks/import", { name: "a", notebook });
    await account.put(`/notebooks/${id}`, { paragraphs: [] });
    expect(await account.get(`/notebooks/${id}/export`)).toEqual(EMPTY);
    await account.put(`/notebooks/${id}`, { paragraphs: [{ language: "sql", text: "2" }] });
    const { cells } = await account.get(`/notebooks/${id}/export`);
    expect(cells).toMatchObject([{ id: "paragraph-8", outputs: [], source: ["%%sql\n", "2"] }]);
  });

  test("loses the outputs of a paragraph that is no longer code", async () => {
    const account = await given.account();
    const { id } = await account.post("/notebooks/import", { name: "a", notebook: code({ source: "1", id: "x" }) });
    await account.put(`/notebooks/${id}`, { paragraphs: [{ language: "markdown", text: "1" }] });
    const { cells } = await account.get(`/notebooks/${id}/export`);
    expect(cells).toEqual([{ cell_type: "markdown", id: "paragraph-1", metadata: {}, source: ["1"] }]);
  });

  test("is exported, published and edited without parsing its outputs", async () => {
    const account = await given.account();
    const outputs = [{ output_type: "stream", name: "stdout", text: "marker \ud800\u0000" }];
    const { id } = await account.post("/notebooks/import", { name: "a", notebook: code({ outputs }) });
    const { id: dashboard } = await account.post("/notebook_dashboards", { note_id: id, name: "a" });
    // This number would change if it were parsed and written again.
    for (const table of ["note_content", "dashboard_content"]) {
      await given.app.services.db.system.query(
        `update ${table} set notebook = replace(notebook::text, '"marker', '12345678901234567890.10,"other":"marker')::json
          where account_id = $1`,
        [account.accountId],
      );
    }
    const kept = '"text":12345678901234567890.10,"other":"marker \\ud800\\u0000"';
    for (const path of [`/notebooks/${id}/export`, `/notebook_dashboards/${dashboard}`]) {
      expect((await account.get(path).reply()).text).toContain(kept);
    }
    const [before] = (await account.get(`/notebooks/${id}`)).paragraphs;
    await account.put(`/notebooks/${id}`, { paragraphs: [{ language: "raw", text: "new" }, before] });
    expect((await account.get(`/notebooks/${id}/export`).reply()).text).toContain(kept);
  });

  test("can have at most half a million JSON values, such as the points of a chart", async () => {
    const account = await given.account();
    const file = (points: number): Ipynb =>
      code({ outputs: [{ output_type: "display_data", metadata: {}, data: { chart: Array(points).fill(1) } }] });
    const { id } = await account.post("/notebooks/import", { name: "a", notebook: file(490_000) });
    const { cells } = await account.get(`/notebooks/${id}/export`);
    expect(cells[0].outputs[0].data.chart).toHaveLength(490_000);
    await account
      .post("/notebooks/import", { name: "b", notebook: file(500_000) })
      .refused(400, /more than 500000 values/);
  });

  test("can have a request body of at most 32 MiB", async () => {
    const account = await given.account();
    const [start = "", end = ""] = JSON.stringify({
      name: "a",
      notebook: code({ outputs: [{ output_type: "display_data", metadata: {}, data: { "image/png": "|" } }] }),
    }).split("|");
    const rawBody = Buffer.alloc(32 * 2 ** 20, "A");
    rawBody.write(start);
    rawBody.write(end, rawBody.length - end.length);
    const { id } = await account.post("/notebooks/import", undefined, { rawBody });
    const stored = await given.app.services.db.system.query<{ bytes: number }>("select bytes from note where id = $1", [
      id,
    ]);
    expect(stored[0]?.bytes).toBeGreaterThan(31 * 2 ** 20);
    const headers = { "Content-Length": String(rawBody.length + 1) };
    const refused = await sendAs(given.base, account, { method: "POST", path: "/api/v1.2/notebooks/import", headers });
    expect(refused).toMatchObject({ status: 413, text: expect.stringContaining("larger than 32 MiB") });
  });
});

describe("an .ipynb file that is not valid", () => {
  let account: AccountClient;
  beforeAll(async () => {
    account = await given.account();
  });

  test.each([
    ["a text", "x", /^notebook must be the JSON of an \.ipynb file as an object, not as text/],
    ["an array", [], /^notebook must be the JSON object/],
    ["another object", { a: 1 }, /^notebook\.nbformat must be 4/],
    [
      "nbformat 3",
      { nbformat: 3, nbformat_minor: 0, metadata: {}, worksheets: [] },
      /^notebook\.nbformat must be 4: convert/,
    ],
    ["nbformat 5", { ...EMPTY, nbformat: 5 }, /^notebook\.nbformat must be 4/],
    [
      "a minor version that is a text",
      { ...EMPTY, nbformat_minor: "5" },
      /^notebook\.nbformat_minor must be an integer/,
    ],
    ["metadata that is an array", { ...EMPTY, metadata: [] }, /^notebook\.metadata must be an object/],
    ["no cells", { ...EMPTY, cells: undefined }, /^notebook\.cells must be an array/],
    ["a cell that is a text", { ...EMPTY, cells: ["x"] }, /^notebook\.cells\[0\] must be an object/],
    ["an unknown type of cell", code({ cell_type: "heading" }), /^notebook\.cells\[0\]\.cell_type must be one of code/],
    ["a source that is a number", code({ source: [1] }), /^notebook\.cells\[0\]\.source must be a string/],
    ["U+0000 in a source", code({ source: "\u0000" }), /^notebook\.cells\[0\]\.source must not contain U\+0000/],
    ["cell metadata that is a text", code({ metadata: "x" }), /^notebook\.cells\[0\]\.metadata must be an object/],
    [
      "an execution count that is a text",
      code({ execution_count: "1" }),
      /^notebook\.cells\[0\]\.execution_count must/,
    ],
    ["outputs that are not an array", code({ outputs: {} }), /^notebook\.cells\[0\]\.outputs must be an array/],
    [
      "an unknown type of output",
      code({ outputs: [{ output_type: "pyout" }] }),
      /outputs\[0\]\.output_type must be one/,
    ],
    [
      "another language",
      { ...EMPTY, metadata: { kernelspec: { language: "julia" } } },
      /language must be python, scala/,
    ],
    [
      "too many cells",
      { ...EMPTY, cells: Array.from({ length: 2001 }, () => EMPTY) },
      /^notebook\.cells must have at most 2000 entries/,
    ],
    [
      "too long a text",
      code({ source: "x".repeat(1024 * 1024 + 1) }),
      /^notebook\.cells\[0\]\.source must have at most 1 MiB/,
    ],
  ])("is refused and stores nothing: %s", async (_kind, notebook, message) => {
    await account.post("/notebooks/import", { name: "a", notebook }).refused(422, message);
    expect((await account.get("/notebooks")).notebooks).toEqual([]);
  });
});

describe("a notebook that was not imported", () => {
  test("is exported as a file that can be imported with the same paragraphs", async () => {
    const account = await given.account();
    const paragraphs = [
      { language: "markdown", text: "# Title" },
      { language: "sql", text: "select 1" },
      { language: "scala", text: "val x = 1\nx" },
      { language: "r", text: "y <- 2" },
      { language: "raw", text: "" },
    ];
    const { id } = await account.post("/notebooks", { name: "a", paragraphs });
    const file = await account.get(`/notebooks/${id}/export`);
    expect(file).toMatchObject({ nbformat: 4, nbformat_minor: 5, metadata: { kernelspec: { language: "scala" } } });
    expect(file.cells[2]).toEqual({
      cell_type: "code",
      id: "paragraph-3",
      metadata: {},
      execution_count: null,
      outputs: [],
      source: ["val x = 1\n", "x"],
    });
    const imported = await account.post("/notebooks/import", { name: "b", notebook: file });
    expect(imported.paragraphs).toEqual(paragraphs);
    expect(await account.get(`/notebooks/${imported.id}/export`)).toEqual(file);
  });
});
