import { beforeAll, describe, expect, test } from "vitest";
import { useSharedServer, type AccountClient } from "../../test/support/given.ts";
import { withoutId } from "../../test/support/without-id.ts";

const given = useSharedServer();

const SQL = { language: "sql", text: "select 1" };
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;

describe("POST /notebooks", () => {
  test("creates a notebook in the caller's home", async () => {
    const account = await given.account();
    const user = await given.member(account, { groups: ["system-user"] });
    const notebook = await user.post("/notebooks", { name: "first", paragraphs: [SQL], label: "etl" });
    expect(notebook).toEqual({
      id: expect.any(Number),
      name: "first",
      location: `Users/${user.email}`,
      note_type: "spark",
      label: "etl",
      paragraphs: [SQL],
      user_id: expect.any(Number),
      created_at: expect.stringMatching(TIME),
      updated_at: expect.stringMatching(TIME),
    });
    expect(await user.get(`/notebooks/${notebook.id}`)).toEqual(notebook);
  });

  test("creates it in a folder, if the name is not taken there", async () => {
    const account = await given.account();
    await account.post("/folders", { name: "reports", location: "Common", type: "notes" });
    const body = { name: "first", location: "Common/reports" };
    expect(await account.post("/notebooks", body)).toMatchObject({ location: "Common/reports", paragraphs: [] });
    await account.post("/notebooks", body).refused(409, /^name is taken: Common\/reports has a notebook named first/);
    expect(await account.post("/notebooks", { ...body, location: "Common" })).toMatchObject({ location: "Common" });
  });

  test("repeats its reply to the same idempotency key", async () => {
    const account = await given.account();
    const headers = { "Idempotency-Key": "once" };
    const first = await account.post("/notebooks", { name: "a" }, { headers });
    expect(await account.post("/notebooks", { name: "a" }, { headers })).toEqual(first);
    expect((await account.get("/notebooks")).notebooks).toHaveLength(1);
  });

  test("accepts a text of the maximum size, although JSON escapes make it longer", async () => {
    const account = await given.account();
    const paragraphs = [{ language: "python", text: "\n".repeat(2 ** 20) }];
    expect((await account.post("/notebooks", { name: "a", paragraphs })).paragraphs).toEqual(paragraphs);
  });
});

describe("POST /notebooks in an account without notebooks", () => {
  let account: AccountClient;
  beforeAll(async () => {
    account = await given.account();
  });

  test.each([
    [{}, /^name is required/],
    [{ name: "" }, /^name must not be empty/],
    [{ name: "x".repeat(256) }, /^name must have at most 255 characters/],
    [{ name: "a/b" }, /^name must not contain a slash/],
    [{ name: ".." }, /^name must not be \. or \.\./],
    [{ name: "a\nb" }, /^name must not contain control characters/],
    [{ note_type: "presto" }, /^note_type must be one of spark/],
    [{ label: "x".repeat(256) }, /^label must have at most 255/],
    [{ location: "Elsewhere" }, /^location must start with Common/],
    [{ location: ["Common"] }, /^location must be a string/],
    [{ location: "Common/../x" }, /^location must consist of folder names/],
    [{ paragraphs: {} }, /^paragraphs must be an array/],
    [{ paragraphs: [{ language: "sql" }] }, /^paragraphs\[0\]\.text is required/],
    [{ paragraphs: [{ text: "x" }] }, /^paragraphs\[0\]\.language is required/],
    [{ paragraphs: [{ language: "perl", text: "x" }] }, /^paragraphs\[0\]\.language must be one of python, scala/],
    [{ paragraphs: [{ language: "sql", text: "\u0000" }] }, /^paragraphs\[0\]\.text must not contain U\+0000/],
    [{ paragraphs: Array.from({ length: 2001 }, () => SQL) }, /^paragraphs must have at most 2000 entries/],
    [
      { paragraphs: [SQL, { language: "sql", text: "ü".repeat(2 ** 19 + 1) }] },
      /^paragraphs\[1\]\.text must have at most 1 MiB of text: split it/,
    ],
    [
      { paragraphs: Array.from({ length: 9 }, () => ({ language: "sql", text: "x".repeat(2 ** 20) })) },
      /^paragraphs\[8\]\.text exceeds the limit: all texts of a notebook together can have at most 8 MiB/,
    ],
  ])("refuses a request that breaks the rule $1, and stores nothing", async (body, message) => {
    await account
      .post("/notebooks", { ...(message.source.startsWith("^name is required") ? {} : { name: "a" }), ...body })
      .refused(422, message);
    expect((await account.get("/notebooks")).notebooks).toEqual([]);
  });

  test.each(["Common/absent", "Users/absent@example.test"])(
    "answers 404 for the unknown folder %s",
    async (location) => {
      await account.post("/notebooks", { name: "a", location }).refused(404);
    },
  );
});

describe("GET /notebooks", () => {
  test("pages through notebooks by folder, without their paragraphs", async () => {
    const account = await given.account();
    const user = await given.member(account, { groups: ["system-user"] });
    await account.post("/folders", { name: "f", location: "Common", type: "notes" });
    for (const location of ["Common/f", `Users/${user.email}`, "Common"]) {
      for (const name of ["a", "b"]) await account.post("/notebooks", { name, location, paragraphs: [SQL] });
    }
    const first = await user.get("/notebooks?per_page=4");
    expect(first.paging_info).toEqual({ previous_page: null, next_page: 2, per_page: 4 });
    const second = await user.get("/notebooks?per_page=4&page=2");
    expect(second.paging_info).toEqual({ previous_page: 1, next_page: null, per_page: 4 });
    const all = [...first.notebooks, ...second.notebooks];
    expect(all.map(({ location, name }) => `${location}/${name}`)).toEqual([
      "Common/a",
      "Common/b",
      `Users/${user.email}/a`,
      `Users/${user.email}/b`,
      "Common/f/a",
      "Common/f/b",
    ]);
    expect(all[0]).not.toHaveProperty("paragraphs");
    expect((await user.get("/notebooks?location=Common/f")).notebooks).toEqual(all.slice(4));
    expect((await user.get(`/notebooks?location=Users/${user.email}&page=2&per_page=1`)).notebooks).toEqual([all[3]]);
    await user.get("/notebooks?location=Common/absent").refused(404);
    await user.get("/notebooks?location=absent").refused(422, /^location must start with/);
  });
});

describe("PUT /notebooks/<id>/clone", () => {
  test("copies the notebook to the caller's home, or to the given folder and name", async () => {
    const account = await given.account();
    const user = await given.member(account, { groups: ["system-user"] });
    const notebook = await account.post("/notebooks", { name: "a", location: "Common", label: "x", paragraphs: [SQL] });
    const clone = await user.put(`/notebooks/${notebook.id}/clone`);
    expect(clone).toMatchObject({ name: "a", location: `Users/${user.email}`, label: "x", paragraphs: [SQL] });
    expect(clone.id).not.toBe(notebook.id);
    await user.put(`/notebooks/${notebook.id}/clone`).refused(409, /^name is taken/);
    await user.put(`/notebooks/${notebook.id}/clone`, { name: "b/c" }).refused(422, /^name must not contain a slash/);
    await user.put(`/notebooks/${notebook.id}/clone`, { location: "Common/absent" }).refused(404);
    const named = await user.put(`/notebooks/${notebook.id}/clone`, { name: "b", location: "Common" });
    expect(named).toMatchObject({ name: "b", location: "Common" });
    await user.put(`/notebooks/${clone.id}`, { paragraphs: [] });
    expect(await account.get(`/notebooks/${notebook.id}`)).toEqual(notebook);
  });
});

describe("PUT /notebooks/<id>/move", () => {
  test("moves the notebook, and the audit event has both locations", async () => {
    const account = await given.account();
    const notebook = await account.post("/notebooks", { name: "a", paragraphs: [SQL] });
    const moved = await account.put(`/notebooks/${notebook.id}/move`, { location: "Common" });
    expect(moved).toMatchObject({ id: notebook.id, location: "Common" });
    expect(await account.get(`/notebooks/${notebook.id}`)).toMatchObject({ location: "Common", paragraphs: [SQL] });
    const { audit_events: events } = await account.get("/api/v2/audit_events?operation=notebook_move");
    expect(events).toMatchObject([
      {
        object: `note/${notebook.id}`,
        detail: { before: { location: notebook.location }, after: { location: "Common" } },
      },
    ]);
  });

  test("refuses a taken name, a missing location and an unknown folder", async () => {
    const account = await given.account();
    await account.post("/notebooks", { name: "a", location: "Common" });
    const { id, location } = await account.post("/notebooks", { name: "a" });
    await account.put(`/notebooks/${id}/move`, { location: "Common" }).refused(409, /^name is taken: Common has/);
    await account.put(`/notebooks/${id}/move`, {}).refused(422, /^location is required/);
    await account.put(`/notebooks/${id}/move`, { location: "x" }).refused(422, /^location must start with/);
    await account.put(`/notebooks/${id}/move`, { location: "Common/absent" }).refused(404);
    expect(await account.get(`/notebooks/${id}`)).toMatchObject({ location });
  });
});

describe("DELETE /notebooks/<id>", () => {
  test("deletes the notebook and its policy", async () => {
    const account = await given.account();
    const { id } = await account.post("/notebooks", { name: "a" });
    await account.put("/object_policy/policy", { source_type: "note", source_id: id, policy: '[{"access":"deny"}]' });
    expect(await account.delete(`/notebooks/${id}`)).toEqual({ status: "deleted" });
    await account.get(`/notebooks/${id}`).refused(404);
    await account.delete(`/notebooks/${id}`).refused(404);
    const rows = await given.app.services.db.system.query(
      "select from object_policy where account_id = $1 union all select from note_content where account_id = $1",
      [account.accountId],
    );
    expect(rows).toEqual([]);
  });
});

describe("a notebook of another account", () => {
  test("is 404 in every operation, like one that never existed", async () => {
    const [account, other] = [await given.account(), await given.account()];
    const { id } = await other.post("/notebooks", { name: "a" });
    for (const [method, path] of [
      ["GET", ""],
      ["PUT", ""],
      ["DELETE", ""],
      ["PUT", "/clone"],
      ["PUT", "/move"],
      ["GET", "/export"],
    ] as const) {
      const [foreign, unknown] = [
        await account.call(method, `/notebooks/${id}${path}`).refused(404),
        await account.call(method, `/notebooks/987654321${path}`).refused(404),
      ];
      expect(withoutId(foreign, id)).toBe(withoutId(unknown, "987654321"));
    }
    expect((await other.get("/notebooks")).notebooks).toHaveLength(1);
  });
});

describe("without permission", () => {
  test("a token is needed", async () => {
    const nobody = given.anonymous();
    await nobody.get("/notebooks").refused(401);
    await nobody.post("/notebooks", { name: "a" }).refused(401);
    await nobody.get("/notebooks/1/export").refused(401);
  });

  test.each([[[]], [["dashboard-user"]]])(
    "members of %j may do nothing with notebooks, not even in their own home",
    async (groups) => {
      const account = await given.account();
      const member = await given.member(account, { groups });
      const { id } = await account.post("/notebooks", { name: "a", location: "Common" });
      for (const [method, path, body] of [
        ["GET", ""],
        ["POST", "", { name: "b" }],
        ["POST", "/import", { name: "b", notebook: { nbformat: 4, metadata: {}, cells: [] } }],
        ["GET", `/${id}`],
        ["GET", "/987654321"],
        ["PUT", `/${id}`, { name: "b" }],
        ["DELETE", `/${id}`],
        ["PUT", `/${id}/clone`],
        ["PUT", `/${id}/move`, { location: "Common" }],
        ["GET", `/${id}/export`],
      ] as const) {
        await member.call(method, `/notebooks${path}`, body).refused(403, /^You may not do this: it needs/);
      }
    },
  );

  test("a system-user may not write in another member's home", async () => {
    const account = await given.account();
    const user = await given.member(account, { groups: ["system-user"] });
    const home = `Users/${account.email}`;
    const theirs = await account.post("/notebooks", { name: "a" });
    const own = await user.post("/notebooks", { name: "b" });
    const message = /in the folders of another member it needs a policy/;
    await user.post("/notebooks", { name: "c", location: home }).refused(403, message);
    await user.post("/notebooks/import", { name: "c", location: home, notebook: {} }).refused(403, message);
    await user.put(`/notebooks/${own.id}/move`, { location: home }).refused(403, message);
    await user.put(`/notebooks/${own.id}/clone`, { location: home }).refused(403, message);
    await user.put(`/notebooks/${theirs.id}`, { name: "c" }).refused(403, message);
    await user.delete(`/notebooks/${theirs.id}`).refused(403, message);
    expect(await user.get(`/notebooks/${theirs.id}`)).toEqual(theirs);
  });
});
