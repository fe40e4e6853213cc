import { describe, expect, test } from "vitest";
import { useServer, type AccountClient } from "../../test/support/given.ts";

const given = useServer();

const NOTES = { type: "notes" };

/** Creates the folders of a path below an existing location and returns the id of the last. */
async function makePath(account: AccountClient, location: string, names: readonly string[], type = "notes") {
  let at = location;
  let id = 0;
  for (const name of names) {
    ({ id } = (await account.post("/folders", { name, location: at, type })).folder);
    at = `${at}/${name}`;
  }
  return { id, location: at };
}

async function locationsIn(account: AccountClient, query: string): Promise<string[]> {
  const { folders } = await account.get(`/folders?per_page=100&${query}`);
  return folders.map(({ location }: { location: string }) => location);
}

const deepNames = (count: number): string[] => Array.from({ length: count }, (_, index) => `d${index + 1}`);

describe("POST /folders", () => {
  test("answers the folder with its full path", async () => {
    const account = await given.account();
    const { status, folder } = await account.post("/folders", { name: "reports", location: "Common", ...NOTES });
    expect(status).toBe("success");
    expect(folder).toEqual({
      id: expect.any(Number),
      name: "reports",
      location: "Common/reports",
      type: "notes",
      created_at: expect.stringMatching(/^\d{4}-.*Z$/),
      updated_at: folder.created_at,
    });
    expect(await account.get(`/folders/${folder.id}`)).toEqual(folder);
  });

  test("creates in the caller's own home by default", async () => {
    const account = await given.account();
    const { folder } = await account.post("/folders", { name: "mine", ...NOTES });
    expect(folder.location).toBe(`Users/${account.email}/mine`);
    expect(await locationsIn(account, `type=notes&location=Users/${account.email.toUpperCase()}`)).toEqual([
      folder.location,
    ]);
  });

  test.each(["x/a/b@slashes.example", "b@slashes.example/c/d", "/x//b@slashes.example"])(
    "works in the home of the e-mail address %s",
    async (email) => {
      const account = await given.account({ email });
      const { location } = await makePath(account, `Users/${email}`, ["a@b", "c"]);
      expect(location).toBe(`Users/${email}/a@b/c`);
      expect(await locationsIn(account, `location=${encodeURIComponent(`Users/${email}/a@b`)}`)).toEqual([location]);
      const { folder } = await account.put("/folders/rename", { location, name: "d", ...NOTES });
      expect(folder.location).toBe(`Users/${email}/a@b/d`);
    },
  );

  test("a home whose address continues another one is not mistaken for a folder", async () => {
    const account = await given.account({ email: "one@home.example" });
    const member = await given.member(account, { email: "one@home.example/two", groups: ["system-user"] });
    await member.post("/folders", { name: "inside", location: "Users/one@home.example/two", ...NOTES });
    expect(await locationsIn(account, "")).toEqual(["Users/one@home.example/two/inside"]);
    await makePath(account, "Users/one@home.example", ["two"]);
    const { folder } = await account.post("/folders", {
      name: "other",
      location: "Users/one@home.example/two",
      ...NOTES,
    });
    const children = await account.get(`/folders?location=Users/one@home.example/two`);
    expect(children.folders).toEqual([folder]);
  });

  test("a name is taken once at each location and in each tree", async () => {
    const account = await given.account();
    await makePath(account, "Common", ["a", "b"]);
    await account.post("/folders", { name: "a", location: "Common", ...NOTES }).refused(409, /folder named a/);
    await account.post("/folders", { name: "b", location: "Common/a", ...NOTES }).refused(409);
    await makePath(account, "Common", ["A"]);
    await makePath(account, "Common", ["b"]);
    await account.post("/folders", { name: "a", ...NOTES });
    await account.post("/folders", { name: "a", location: "Common", type: "notebook_dashboards" });
  });

  test("one of two concurrent creations of the same folder is refused", async () => {
    const account = await given.account();
    const body = { name: "same", location: "Common", ...NOTES };
    const replies = await Promise.all([1, 2, 3, 4].map(() => account.post("/folders", body).reply()));
    expect(replies.map(({ status }) => String(status)).toSorted()).toEqual(["200", "409", "409", "409"]);
  });

  test.each([
    [{ name: "a/b" }, /^name must not contain a slash/],
    [{ name: ".." }, /^name must not be \. or \.\./],
    [{ name: "." }, /^name must not be/],
    [{ name: "" }, /^name must not be empty/],
    [{ name: " a" }, /^name must not start or end/],
    [{ name: "a\n" }, /^name must not contain control/],
    [{ name: "a\u2028b" }, /^name must not contain control/],
    [{ name: "x".repeat(256) }, /^name must have at most 255/],
    [{ name: undefined }, /^name is required/],
    [{ type: undefined }, /^type is required/],
    [{ type: "files" }, /^type must be one of notes, notebook_dashboards/],
    [{ location: "" }, /^location must/],
    [{ location: "Elsewhere" }, /^location must start with Common or Users/],
    [{ location: "common" }, /^location must start with Common or Users/],
    [{ location: "/Common" }, /^location must start with/],
    [{ location: "Common/" }, /^location must consist of/],
    [{ location: "Common/.." }, /^location must consist of/],
    [{ location: "Common/../Users" }, /^location must consist of/],
    [{ location: "Users" }, /^location must name a member's home/],
    [{ location: "Users/nobody" }, /^location must name a member's home/],
    [{ location: ["Common"] }, /^location must be a string/],
    [{ location: `Common/${"x".repeat(10_000)}` }, /^location must have at most/],
  ])("refuses what breaks the rule of $1", async (change, message) => {
    const account = await given.account();
    await account.post("/folders", { name: "a", location: "Common", ...NOTES, ...change }).refused(422, message);
    expect(await locationsIn(account, "")).toEqual([]);
  });

  test.each(["Common/absent", "Users/nobody@example.test", "Common/a/b/c", "Users/a@b.example/.."])(
    "an unknown parent %s is not found",
    async (location) => {
      const account = await given.account();
      await account.post("/folders", { name: "a", location, ...NOTES }).refused(404);
    },
  );

  test("folders are at most 32 deep", async () => {
    const account = await given.account();
    const { location } = await makePath(account, "Common", deepNames(32));
    await account.post("/folders", { name: "x", location, ...NOTES }).refused(422, /^location must be at most 31/);
    await account.post("/folders", { name: "x", location: `${location}/y`, ...NOTES }).refused(404);
  });
});

describe("GET /folders", () => {
  test("lists what lies directly in a location, by name and in pages", async () => {
    const account = await given.account();
    for (const name of ["c", "a", "b"]) await makePath(account, "Common", [name, "below"]);
    await makePath(account, "Common", ["dashboards"], "notebook_dashboards");
    const first = await account.get("/folders?location=Common&type=notes&per_page=2");
    expect(first.folders.map(({ name }: { name: string }) => name)).toEqual(["a", "b"]);
    expect(first.paging_info).toEqual({ previous_page: null, next_page: 2, per_page: 2 });
    const second = await account.get("/folders?location=Common&type=notes&per_page=2&page=2");
    expect(second.folders.map(({ name }: { name: string }) => name)).toEqual(["c"]);
    expect(await locationsIn(account, "location=Common&type=notebook_dashboards")).toEqual(["Common/dashboards"]);
    expect(await locationsIn(account, "location=Common/a")).toEqual(["Common/a/below"]);
  });

  test("lists every folder of the type without a location", async () => {
    const account = await given.account();
    await makePath(account, "Common", ["x", "y"]);
    await makePath(account, `Users/${account.email}`, ["z"]);
    await makePath(account, "Common", ["d"], "notebook_dashboards");
    expect(await locationsIn(account, "")).toEqual(["Common/x", "Common/x/y", `Users/${account.email}/z`]);
    expect(await locationsIn(account, "type=notebook_dashboards")).toEqual(["Common/d"]);
  });

  test("refuses unknown types and locations", async () => {
    const account = await given.account();
    await account.get("/folders?type=files").refused(422, /^type must be one of/);
    await account.get("/folders?location=Common/absent").refused(404);
    await account.get("/folders?location=Nowhere").refused(422, /^location must start/);
    await account.get("/folders?per_page=101").refused(422, /^per_page/);
  });
});

describe("PUT /folders/rename", () => {
  test("takes everything below along", async () => {
    const account = await given.account();
    const { id } = await makePath(account, "Common", ["top", "middle", "leaf"]);
    const { status, folder } = await account.put("/folders/rename", { location: "Common/top", name: "new", ...NOTES });
    expect([status, folder.name, folder.location]).toEqual(["success", "new", "Common/new"]);
    expect((await account.get(`/folders/${id}`)).location).toBe("Common/new/middle/leaf");
    await account.get("/folders?location=Common/top").refused(404);
    const { audit_events: events } = await account.get("/api/v2/audit_events");
    expect(events[0]).toMatchObject({ operation: "folder_rename", object: `folder/${folder.id}`, outcome: "done" });
  });

  test("accepts the id as text, alone or with the location that it belongs to", async () => {
    const account = await given.account();
    const { id } = await makePath(account, "Common", ["a"]);
    await account.put("/folders/rename", { folder_id: String(id), name: "b", ...NOTES });
    const { folder } = await account.put("/folders/rename", {
      folder_id: id,
      location: "Common/b",
      name: "c",
      ...NOTES,
    });
    expect(folder).toMatchObject({ id, location: "Common/c" });
  });

  test("refuses a folder_id that disagrees with location or type", async () => {
    const account = await given.account();
    const { id } = await makePath(account, "Common", ["a"]);
    await makePath(account, "Common", ["b"]);
    const rename = (body: object) => account.put("/folders/rename", { folder_id: id, name: "c", ...NOTES, ...body });
    await rename({ location: "Common/b" }).refused(422, /^folder_id must be the id of the folder at location/);
    await rename({ location: "Common/absent" }).refused(422, /^folder_id/);
    await rename({ location: "Common" }).refused(422, /^folder_id/);
    await rename({ type: "notebook_dashboards" }).refused(422, /^type must be notes/);
    expect(await locationsIn(account, "")).toEqual(["Common/a", "Common/b"]);
  });

  test("a taken name is a conflict, the folder's own name is not", async () => {
    const account = await given.account();
    await makePath(account, "Common", ["a"]);
    await makePath(account, "Common", ["b"]);
    await account.put("/folders/rename", { location: "Common/a", name: "b", ...NOTES }).refused(409, /named b/);
    await account.put("/folders/rename", { location: "Common/a", name: "a", ...NOTES });
  });

  test.each([
    [{ name: "a/b" }, 422, /^name must not contain a slash/],
    [{ name: ".." }, 422, /^name must not be/],
    [{ name: undefined }, 422, /^name is required/],
    [{ type: undefined }, 422, /^type is required/],
    [{ location: undefined }, 422, /^location or folder_id is required/],
    [{ location: "Common" }, 422, /^location must not be a root/],
    [{ location: "Common/absent" }, 404, undefined],
    [{ location: undefined, folder_id: 987_654_321 }, 404, undefined],
    [{ folder_id: "abc" }, 422, /^folder_id/],
    [{ type: "notebook_dashboards" }, 404, undefined],
  ] as const)("answers $1 $2", async (change, status, message) => {
    const account = await given.account();
    await makePath(account, "Common", ["a"]);
    const body = { location: "Common/a", name: "new", ...NOTES, ...change };
    await account.put("/folders/rename", body).refused(status, message);
    expect(await locationsIn(account, "")).toEqual(["Common/a"]);
  });
});

describe("DELETE /folders/<id>", () => {
  test("deletes an empty folder, whose name can be used again", async () => {
    const account = await given.account();
    const { id } = await makePath(account, "Common", ["a"]);
    expect(await account.delete(`/folders/${id}`)).toEqual({ status: "deleted" });
    await account.get(`/folders/${id}`).refused(404);
    await account.delete(`/folders/${id}`).refused(404);
    await makePath(account, "Common", ["a"]);
  });

  test("refuses a folder that is not empty unless recursive is true", async () => {
    const account = await given.account();
    const { id } = await makePath(account, "Common", ["a"]);
    await makePath(account, "Common/a", ["b"]);
    await account.delete(`/folders/${id}`).refused(422, /^recursive must be true/);
    await account.delete(`/folders/${id}?recursive=false`).refused(422, /^recursive must be true/);
    await account.delete(`/folders/${id}?recursive=perhaps`).refused(422, /^recursive must be a boolean/);
    expect(await locationsIn(account, "")).toEqual(["Common/a", "Common/a/b"]);
    await account.delete(`/folders/${id}?recursive=True`);
    expect(await locationsIn(account, "")).toEqual([]);
  });

  test("takes the notebooks, dashboards and policies below along, and nothing else", async () => {
    const account = await given.account();
    const top = await makePath(account, "Common", ["a"]);
    const below = await makePath(account, "Common/a", ["b", "c"]);
    const beside = await makePath(account, "Common", ["other"]);
    const policy = JSON.stringify([{ access: "deny", action: ["write"] }]);
    for (const { location } of [below, beside]) await account.put("/folders/policy", { location, ...NOTES, policy });
    await storeContents(account, below.id);
    await storeContents(account, beside.id);
    await account.delete(`/folders/${top.id}`, { recursive: true });
    expect(await locationsIn(account, "")).toEqual(["Common/other"]);
    expect(await storedIn(account)).toEqual({ notes: 1, contents: 1, dashboards: 1, policies: 2, rules: 2 });
  });

  test("deletes thousands of folders on several levels at once", async () => {
    const account = await given.account();
    const { id } = await makePath(account, "Common", ["top"]);
    await makePath(account, "Common", ["other"]);
    await given.app.services.db.system.query(
      `with level as (insert into folder (account_id, type, name, parent_id)
                      select $1, 'notes', 'f' || n, $2 from generate_series(1, 3) n returning id)
       insert into folder (account_id, type, name, parent_id)
       select $1, 'notes', 'g' || n, level.id from level, generate_series(1, 2000) n`,
      [account.accountId, id],
    );
    await account.delete(`/folders/${id}?recursive=true`);
    expect(await locationsIn(account, "")).toEqual(["Common/other"]);
    const [stored] = await given.app.services.db.system.query(
      "select detail from audit_event where account_id = $1 order by id desc limit 1",
      [account.accountId],
    );
    expect(stored).toEqual({ detail: { before: { location: "Common/top", folders: 6004 }, after: null } });
  });

  test("is not empty while a notebook or a dashboard lies in it", async () => {
    const account = await given.account();
    const { id } = await makePath(account, "Common", ["a"]);
    const { system } = given.app.services.db;
    for (const table of ["note", "dashboard"]) {
      const extra = table === "note" ? ", note_type" : "";
      await system.query(
        `insert into ${table} (account_id, folder_id, name${extra}) values ($1, $2, 'n'${extra && ", 'x'"})`,
        [account.accountId, id],
      );
      await account.delete(`/folders/${id}`).refused(422, /^recursive/);
      await system.query(`delete from ${table} where folder_id = $1`, [id]);
    }
    await account.delete(`/folders/${id}`);
  });
});

async function storeContents(account: AccountClient, folderId: number): Promise<void> {
  await given.app.services.db.system.query(
    `with n as (insert into note (account_id, folder_id, name, note_type, has_policy)
                values ($1, $2, 'n', 'x', true) returning id),
          c as (insert into note_content (account_id, note_id, paragraphs) select $1, id, '[]' from n),
          d as (insert into dashboard (account_id, folder_id, name) values ($1, $2, 'd')),
          p as (insert into object_policy (account_id, source_type, source_id, elements)
                select $1, 'note', id, '[]' from n returning source_id)
     insert into policy_rule (account_id, source_type, source_id, kind, subject_id, action, weight)
     select $1, 'note', source_id, 0, 0, 'read', 2 from p`,
    [account.accountId, folderId],
  );
}

async function storedIn({ accountId }: AccountClient): Promise<unknown> {
  const [row] = await given.app.services.db.system.query(
    `select (select count(*) from note where account_id = $1) as notes,
            (select count(*) from note_content where account_id = $1) as contents,
            (select count(*) from dashboard where account_id = $1) as dashboards,
            (select count(*) from object_policy where account_id = $1) as policies,
            (select count(*) from policy_rule where account_id = $1) as rules`,
    [accountId],
  );
  return row;
}
