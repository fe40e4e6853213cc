import { describe, expect, test } from "vitest";
import { locationsIn, makePath, NOTEBOOK_FOLDERS } from "../../test/support/folders.ts";
import { useSharedServer, type AccountClient } from "../../test/support/given.ts";

const given = useSharedServer();

const move = (account: AccountClient, location: string, destination: string) =>
  account.put("/folders/move", { location, destination_location: destination, ...NOTEBOOK_FOLDERS });

const everyLocation = async (account: AccountClient): Promise<string[]> => (await locationsIn(account)).toSorted();

/** The folders whose stored ancestors or home are not those that a walk up the tree finds. */
async function wrongAncestors({ accountId }: AccountClient): Promise<unknown[]> {
  return given.app.services.db.system.query(
    `with recursive walk as (
       select id, parent_id, array[]::bigint[] as above, home_id from folder where account_id = $1
       union all
       select w.id, f.parent_id, f.id || w.above, f.home_id from walk w join folder f on f.id = w.parent_id)
     select f.name, f.ancestors, w.above, f.root_home from folder f join walk w on w.id = f.id and w.parent_id is null
      where f.ancestors <> w.above or f.root_home <> coalesce(w.home_id, 0)`,
    [accountId],
  );
}

const deepNames = (prefix: string, count: number): string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}${index + 1}`);

describe("PUT /folders/move", () => {
  test("moves everything below too, between folders and roots", async () => {
    const account = await given.account();
    const home = `Users/${account.email}`;
    await makePath(account, "Common", ["a", "b", "c"]);
    await makePath(account, home, ["x"]);
    const { status, folder } = await move(account, "Common/a/b", `${home}/x`);
    expect([status, folder.location]).toEqual(["success", `${home}/x/b`]);
    expect(await everyLocation(account)).toEqual(["Common/a", `${home}/x`, `${home}/x/b`, `${home}/x/b/c`]);
    expect(await wrongAncestors(account)).toEqual([]);
    await move(account, `${home}/x/b`, "Common");
    await move(account, "Common/a", home);
    expect(await everyLocation(account)).toEqual(["Common/b", "Common/b/c", `${home}/a`, `${home}/x`]);
    expect(await wrongAncestors(account)).toEqual([]);
    const { audit_events: events } = await account.get("/api/v2/audit_events");
    expect(events[0]).toMatchObject({ operation: "folder_move", outcome: "done" });
  });

  test("leaves a folder where it is if it already lies in the destination", async () => {
    const account = await given.account();
    await makePath(account, "Common", ["a", "b"]);
    expect((await move(account, "Common/a/b", "Common/a")).folder.location).toBe("Common/a/b");
  });

  test("a taken name at the destination is a conflict", async () => {
    const account = await given.account();
    await makePath(account, "Common", ["a", "b"]);
    await makePath(account, "Common", ["b"]);
    await move(account, "Common/a/b", "Common").refused(409, /named b/);
    expect(await everyLocation(account)).toEqual(["Common/a", "Common/a/b", "Common/b"]);
  });

  test.each([
    ["Common/a", "Common/a", 422, /^destination_location must not be the moved folder itself/],
    ["Common/a", "Common/a/b/c", 422, /^destination_location must not be the moved folder itself/],
    ["Common/a", "Common/absent", 422, /^destination_location names no folder/],
    ["Common/a", "Common/dashboards", 422, /^destination_location names no folder/],
    ["Common/a", "Users/nobody@example.test", 422, /^destination_location names no folder/],
    ["Common/a", "Common/..", 422, /^destination_location must consist of/],
    ["Common/a", "Users", 422, /^destination_location must name/],
    ["Common/a", "", 422, /^destination_location must not be empty/],
    ["Common", "Common/a", 422, /^location must not be a root/],
    ["Common/absent", "Common/a", 404, undefined],
    ["Common/dashboards", "Common/a", 404, undefined],
  ])("refuses to move %s to %s", async (location, destination, status, message) => {
    const account = await given.account();
    await makePath(account, "Common", ["a", "b", "c"]);
    await account.post("/folders", { name: "dashboards", location: "Common", type: "notebook_dashboards" });
    await move(account, location, destination).refused(status, message);
    expect(await everyLocation(account)).toEqual(["Common/a", "Common/a/b", "Common/a/b/c"]);
  });

  test.each(["location", "destination_location", "type"])("needs %s", async (field) => {
    const account = await given.account();
    await makePath(account, "Common", ["a"]);
    const body = { location: "Common/a", destination_location: "Common", ...NOTEBOOK_FOLDERS, [field]: null };
    await account.put("/folders/move", body).refused(422, new RegExp(`^${field} .*is required`));
  });

  test("is refused if a folder below the moved one would be deeper than 32", async () => {
    const account = await given.account();
    await makePath(account, "Common", deepNames("d", 30));
    const { location: tree } = await makePath(account, "Common", deepNames("t", 3));
    const deep = (levels: number): string => `Common/${deepNames("d", levels).join("/")}`;
    await move(account, "Common/t1", deep(30)).refused(
      422,
      /^destination_location must be higher in the tree: .* at most 32/,
    );
    // After the deepest folder is deleted, the same move fits.
    const { folders } = await account.get("/folders?location=Common/t1/t2");
    await account.delete(`/folders/${folders[0].id}`);
    expect(tree).toBe("Common/t1/t2/t3");
    expect((await move(account, "Common/t1", deep(30))).folder.location).toBe(`${deep(30)}/t1`);
    await account
      .post("/folders", { name: "x", location: `${deep(30)}/t1/t2`, ...NOTEBOOK_FOLDERS })
      .refused(422, /^location/);
    // The levels that have been moved below d30 count for the folders above it too.
    await makePath(account, "Common", ["one"]);
    await move(account, "Common/d1", "Common/one").refused(422, /^destination_location/);
  });

  test("moves 10,000 folders below a folder, but no more", async () => {
    const account = await given.account();
    const { id } = await makePath(account, "Common", ["a", "top"]);
    const { system } = given.app.services.db;
    await system.query(
      `with middle as (insert into folder (account_id, type, name, parent_id) values ($1, 'notes', 'm', $2) returning id)
       insert into folder (account_id, type, name, parent_id)
       select $1, 'notes', 'f' || n, middle.id from middle, generate_series(1, 10000) n`,
      [account.accountId, id],
    );
    await move(account, "Common/a/top", "Common").refused(422, /^location must be .* at most 10000 folders below/);
    expect((await account.get(`/folders/${id}`)).location).toBe("Common/a/top");
    expect(await wrongAncestors(account)).toEqual([]);
    await account.put("/folders/rename", { folder_id: id, name: "big", ...NOTEBOOK_FOLDERS });
    await system.query("delete from folder where account_id = $1 and name = 'f7'", [account.accountId]);
    await move(account, "Common/a/big", "Common");
    expect(await wrongAncestors(account)).toEqual([]);
    const [deep] = await system.query("select ancestors[1] as top from folder where account_id = $1 and name = 'f8'", [
      account.accountId,
    ]);
    expect(deep).toEqual({ top: id });
  });

  test("concurrent moves into each other never make a cycle", async () => {
    const account = await given.account();
    for (let round = 0; round < 5; round += 1) {
      const names = [`a${round}`, `b${round}`, `c${round}`];
      for (const name of names) await makePath(account, "Common", [name, "inner"]);
      const [a = "", b = "", c = ""] = names.map((name) => `Common/${name}`);
      const replies = await Promise.all([
        move(account, a, `${b}/inner`).reply(),
        move(account, b, `${c}/inner`).reply(),
        move(account, c, `${a}/inner`).reply(),
      ]);
      for (const { status, text } of replies) expect([200, 422], text).toContain(status);
      // At least one move was refused, and every folder still has a location.
      expect(replies.filter(({ status }) => status === 200).length).toBeLessThan(3);
      const locations = await everyLocation(account);
      expect(locations).toHaveLength((round + 1) * 6);
      for (const location of locations) expect(location).toMatch(/^Common\//);
      expect(await wrongAncestors(account)).toEqual([]);
    }
  });

  test("after concurrent moves, creations and deletions, every folder has a valid location", async () => {
    const account = await given.account();
    await makePath(account, "Common", ["a", "b"]);
    await makePath(account, "Common", ["c", "d"]);
    const { folders } = await account.get("/folders?location=Common");
    const replies = await Promise.all([
      move(account, "Common/a/b", "Common/c/d").reply(),
      move(account, "Common/c/d", "Common/a").reply(),
      account.delete(`/folders/${folders[0].id}?recursive=true`).reply(),
      ...[1, 2, 3].map((name) =>
        account.post("/folders", { name, location: "Common/a/b", ...NOTEBOOK_FOLDERS }).reply(),
      ),
      ...[1, 2, 3].map((name) =>
        account.post("/folders", { name, location: "Common/c/d", ...NOTEBOOK_FOLDERS }).reply(),
      ),
    ]);
    for (const { status, text } of replies) expect([200, 404, 422], text).toContain(status);
    const locations = await everyLocation(account);
    expect(locations).toContain("Common/c");
    expect(locations.every((location) => location.startsWith("Common/"))).toBe(true);
    for (const location of locations) await account.get(`/folders?location=${location}`);
    expect(await wrongAncestors(account)).toEqual([]);
  });
});
