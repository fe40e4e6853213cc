import { beforeAll, describe, expect, test } from "vitest";
import { deny, locationsIn, makePath, NOTEBOOK_FOLDERS, setFolderPolicy } from "../../test/support/folders.ts";
import { useSharedServer, type AccountClient } from "../../test/support/given.ts";

const given = useSharedServer();

const deepNames = (count: number): string[] => Array.from({ length: count }, (_, index) => `d${index + 1}`);

describe("POST /folders", () => {
  test("replies with the folder and its full path", async () => {
    const account = await given.account();
    const { status, folder } = await account.post("/folders", {
      name: "reports",
      location: "Common",
      ...NOTEBOOK_FOLDERS,
    });
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

  test("creates the folder in the caller's own home by default", async () => {
    const account = await given.account();
    const { folder } = await account.post("/folders", { name: "mine", ...NOTEBOOK_FOLDERS });
    expect(folder.location).toBe(`Users/${account.email}/mine`);
    expect(await locationsIn(account, `type=notes&location=Users/${account.email.toUpperCase()}`)).toEqual([
      folder.location,
    ]);
  });

  test("a user whose e-mail address has slashes, as earlier versions allowed, keeps the home and its folders", async () => {
    const account = await given.account({ email: "one@home.example" });
    await makePath(account, "Users/one@home.example", ["two"]);
    const member = await given.member(account, { email: "one@home.example/two", groups: ["system-user"] });
    const { folder } = await member.post("/folders", { name: "inside", ...NOTEBOOK_FOLDERS });
    expect(folder.location).toBe("Users/one@home.example/two/inside");
    expect(await member.get(`/folders/${folder.id}`)).toEqual(folder);
    const renamed = await member.put("/folders/rename", { folder_id: folder.id, name: "other", ...NOTEBOOK_FOLDERS });
    expect(renamed.folder.location).toBe("Users/one@home.example/two/other");
    const notebook = await member.post("/notebooks", { name: "mine" });
    expect(notebook.location).toBe("Users/one@home.example/two");
    expect(await locationsIn(account, "location=Users/one@home.example/two")).toEqual([]);
  });

  test("a user whose e-mail address has slashes can name the own home in locations", async () => {
    const account = await given.account({ email: "one@home.example" });
    await makePath(account, "Users/one@home.example", ["two"]);
    const member = await given.member(account, { email: "one@home.example/two", groups: ["system-user"] });
    const home = "Users/one@home.example/two";
    await makePath(member, "Users/One@home.example/TWO", ["a"]);
    expect(await locationsIn(member, `location=${home}`)).toEqual([`${home}/a`]);
    await setFolderPolicy(member, home, [deny(["read", "write"])]);
    expect((await member.get(`/folders/policy?location=${home}&type=notes`)).policy).toHaveLength(1);
    await setFolderPolicy(member, home, []);
    const common = await makePath(member, "Common", ["b"]);
    const moved = { location: common.location, destination_location: home, ...NOTEBOOK_FOLDERS };
    expect((await member.put("/folders/move", moved)).folder.location).toBe(`${home}/b`);
    const notebook = await member.post("/notebooks", { name: "n", location: `${home}/a` });
    expect((await member.put(`/notebooks/${notebook.id}/move`, { location: home })).location).toBe(home);
    expect(await locationsIn(account, `location=${home}`)).toEqual([]);
  });

  test("a name is unique in its location and tree, and case matters", async () => {
    const account = await given.account();
    await makePath(account, "Common", ["a", "b"]);
    await account
      .post("/folders", { name: "a", location: "Common", ...NOTEBOOK_FOLDERS })
      .refused(409, /folder named a/);
    await account.post("/folders", { name: "b", location: "Common/a", ...NOTEBOOK_FOLDERS }).refused(409);
    await makePath(account, "Common", ["A"]);
    await makePath(account, "Common", ["b"]);
    await account.post("/folders", { name: "a", ...NOTEBOOK_FOLDERS });
    await account.post("/folders", { name: "a", location: "Common", type: "notebook_dashboards" });
  });

  test("only one of several concurrent creations of the same folder succeeds", async () => {
    const account = await given.account();
    const body = { name: "same", location: "Common", ...NOTEBOOK_FOLDERS };
    const replies = await Promise.all([1, 2, 3, 4].map(() => account.post("/folders", body).reply()));
    expect(replies.map(({ status }) => String(status)).toSorted()).toEqual(["200", "409", "409", "409"]);
  });

  test("folders are at most 32 deep", async () => {
    const account = await given.account();
    const { location } = await makePath(account, "Common", deepNames(32));
    await account
      .post("/folders", { name: "x", location, ...NOTEBOOK_FOLDERS })
      .refused(422, /^location must be at most 31/);
    await account.post("/folders", { name: "x", location: `${location}/y`, ...NOTEBOOK_FOLDERS }).refused(404);
  });
});

describe("POST /folders, in an account without folders,", () => {
  let account: AccountClient;
  beforeAll(async () => {
    account = await given.account();
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
    [{ location: "Users//x@y.example" }, /^location must name a member's home/],
    [{ location: "Users/x/a@y.example" }, /^location must name a member's home/],
    [{ location: "Users/a@b.example/.." }, /^location must consist of/],
    [{ location: ["Common"] }, /^location must be a string/],
    [{ location: `Common/${"x".repeat(10_000)}` }, /^location must have at most/],
  ])("refuses a request that breaks the rule $1", async (change, message) => {
    await account
      .post("/folders", { name: "a", location: "Common", ...NOTEBOOK_FOLDERS, ...change })
      .refused(422, message);
    expect(await locationsIn(account, "")).toEqual([]);
  });

  test.each(["Common/absent", "Users/nobody@example.test", "Common/a/b/c"])(
    "answers 404 for the unknown parent %s",
    async (location) => {
      await account.post("/folders", { name: "a", location, ...NOTEBOOK_FOLDERS }).refused(404);
    },
  );
});

describe("GET /folders", () => {
  test("lists the folders directly in a location, by name and in pages", async () => {
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
  test("changes the locations of everything below", async () => {
    const account = await given.account();
    const { id } = await makePath(account, "Common", ["top", "middle", "leaf"]);
    const { status, folder } = await account.put("/folders/rename", {
      location: "Common/top",
      name: "new",
      ...NOTEBOOK_FOLDERS,
    });
    expect([status, folder.name, folder.location]).toEqual(["success", "new", "Common/new"]);
    expect((await account.get(`/folders/${id}`)).location).toBe("Common/new/middle/leaf");
    await account.get("/folders?location=Common/top").refused(404);
    const { audit_events: events } = await account.get("/api/v2/audit_events");
    expect(events[0]).toMatchObject({ operation: "folder_rename", object: `folder/${folder.id}`, outcome: "done" });
  });

  test("accepts the id as text, alone or with the location that it belongs to", async () => {
    const account = await given.account();
    const { id } = await makePath(account, "Common", ["a"]);
    await account.put("/folders/rename", { folder_id: String(id), name: "b", ...NOTEBOOK_FOLDERS });
    const { folder } = await account.put("/folders/rename", {
      folder_id: id,
      location: "Common/b",
      name: "c",
      ...NOTEBOOK_FOLDERS,
    });
    expect(folder).toMatchObject({ id, location: "Common/c" });
  });

  test("refuses a folder_id that disagrees with location or type", async () => {
    const account = await given.account();
    const { id } = await makePath(account, "Common", ["a"]);
    await makePath(account, "Common", ["b"]);
    const rename = (body: object) =>
      account.put("/folders/rename", { folder_id: id, name: "c", ...NOTEBOOK_FOLDERS, ...body });
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
    await account
      .put("/folders/rename", { location: "Common/a", name: "b", ...NOTEBOOK_FOLDERS })
      .refused(409, /named b/);
    await account.put("/folders/rename", { location: "Common/a", name: "a", ...NOTEBOOK_FOLDERS });
  });
});

describe("PUT /folders/rename that is refused", () => {
  let account: AccountClient;
  beforeAll(async () => {
    account = await given.account();
    await makePath(account, "Common", ["a"]);
  });

  test.each([
    [{ name: "a/b" }, 422, /^name must not contain a slash/],
    [{ name: ".." }, 422, /^name must not be/],
    [{ name: undefined }, 422, /^name is required/],
    [{ type: undefined }, 422, /^type is required/],
    [{ location: undefined }, 422, /^location is required unless folder_id is given/],
    [{ location: "Common" }, 422, /^location must not be a root/],
    [{ location: "Common/absent" }, 404, undefined],
    [{ location: undefined, folder_id: 987_654_321 }, 404, undefined],
    [{ folder_id: "abc" }, 422, /^folder_id/],
    [{ type: "notebook_dashboards" }, 404, undefined],
  ] as const)("answers $1 and changes nothing: $0", async (change, status, message) => {
    const body = { location: "Common/a", name: "new", ...NOTEBOOK_FOLDERS, ...change };
    await account.put("/folders/rename", body).refused(status, message);
    expect(await locationsIn(account, "")).toEqual(["Common/a"]);
  });
});
