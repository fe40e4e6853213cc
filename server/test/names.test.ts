import { beforeAll, describe, expect, test } from "vitest";
import type { Call } from "./support/client.ts";
import { useSharedServer, type AccountClient } from "./support/given.ts";

/** Every kind of object follows the same rule for names: something of a name is visible. */
const given = useSharedServer();

const INVISIBLE: Record<string, string> = {
  "a zero-width space": "\u200B",
  "a word joiner": "\u2060",
  "a byte order mark between joiners": "\u2060\uFEFF\u2060",
  "bidirectional marks": "\u200E\u202E\u2066\u2069",
  "a soft hyphen": "\u00AD",
  "Hangul fillers": "\u3164\u115F\u1160\uFFA0",
  "variation selectors": "\uFE0F\u{E0100}",
  "tag characters": "\u{E0041}\u{E007F}",
  "combining marks alone": "\u0301\u0489",
  "the blank Braille pattern": "\u2800",
  "spaces between joiners": "\u2060 \u00A0\u2003\u2060",
};

let account: AccountClient;
let note: number;
let roleId: number;
let groupId: number;

beforeAll(async () => {
  account = await given.account({ name: "names" });
  ({ id: note } = await account.post("/notebooks", { name: "original", location: "Common" }));
  ({ id: roleId } = (await account.post("/roles", { name: "a role" })).roles);
  groupId = (await account.post("/groups", { name: "a group" })).group.id;
});

const NOTEBOOK_FOLDERS = { location: "Common", type: "notes" };
const FILE = { nbformat: 4, nbformat_minor: 5, metadata: {}, cells: [] };

/** The requests that give something a name, by the field that holds it. */
const NAMED: { what: string; field: string; call: (name: string) => Call }[] = [
  { what: "a new account", field: "name", call: (name) => account.post("/account", { account: { name } }) },
  { what: "the account", field: "name", call: (name) => account.put("/api/v2/accounts", { name }) },
  { what: "a group", field: "name", call: (name) => account.post("/groups", { name }) },
  { what: "an edited group", field: "name", call: (name) => account.put(`/groups/${groupId}`, { name }) },
  { what: "a role", field: "name", call: (name) => account.post("/roles", { name }) },
  { what: "an edited role", field: "name", call: (name) => account.put(`/roles/${roleId}`, { name }) },
  { what: "a folder", field: "name", call: (name) => account.post("/folders", { ...NOTEBOOK_FOLDERS, name }) },
  { what: "a notebook", field: "name", call: (name) => account.post("/notebooks", { name }) },
  { what: "an edited notebook", field: "name", call: (name) => account.put(`/notebooks/${note}`, { name }) },
  { what: "a clone", field: "name", call: (name) => account.put(`/notebooks/${note}/clone`, { name }) },
  { what: "an import", field: "name", call: (name) => account.post("/notebooks/import", { name, notebook: FILE }) },
  {
    what: "a dashboard",
    field: "name",
    call: (name) => account.post("/notebook_dashboards", { note_id: note, name }),
  },
  {
    what: "a cluster",
    field: "labels",
    call: (name) => account.post("/api/v2/clusters", { labels: [name], engine: { type: "local" } }),
  },
  { what: "an app", field: "name", call: (name) => account.post("/api/v2/apps", { name }) },
  {
    what: "a command",
    field: "name",
    call: (name) => account.post("/commands", { command_type: "SparkCommand", sql: "select 1", name }),
  },
  {
    what: "a tag",
    field: "tags",
    call: (name) => account.post("/commands", { command_type: "SparkCommand", sql: "select 1", tags: [name] }),
  },
];

describe("a name without a visible character", () => {
  test.each(NAMED)("is refused for $what", async ({ field, call }) => {
    const rule = new RegExp(`^${field} must have at least one visible character`);
    for (const name of ["\u200B", "\u3164\u115F", "\u2060 \u2060"]) await call(name).refused(422, rule);
  });

  test.each(Object.entries(INVISIBLE))("is refused if it is %s", async (_what, name) => {
    await account.post("/api/v2/apps", { name }).refused(422, /^name must have at least one visible character/);
  });

  test("is refused for a user, and the invitation stays open", async () => {
    const { invitation_code: code } = await account.post("/users/invite_new", { invitee_email: "new@example.test" });
    const accept = (name: string): Call => given.anonymous().post("/api/v2/invitations/accept", { code, name });
    await accept("\u200B").refused(422, /^name must have at least one visible/);
    await accept("N\u0301");
  });

  test("that was stored earlier stays usable in locations and lists", async () => {
    const { folder } = await account.post("/folders", { name: "old", ...NOTEBOOK_FOLDERS });
    await given.app.services.db.system.query("update folder set name = $2 where id = $1", [folder.id, "\u200B"]);
    const location = "Common/\u200B";
    expect(await account.get(`/folders/${folder.id}`)).toMatchObject({ name: "\u200B", location });
    const { id } = await account.post("/notebooks", { name: "inside", location });
    const { notebooks } = await account.get(`/notebooks?location=${encodeURIComponent(location)}`);
    expect(notebooks).toMatchObject([{ id, location }]);
    await account.put("/folders/rename", { location, name: "\u2060", type: "notes" }).refused(422, /visible/);
    await account.put("/folders/rename", { location, name: "new", type: "notes" });
  });

  test("of an account can be sent back with an edit", async () => {
    const other = await given.account();
    await given.app.services.db.system.query("update account set name = $2 where id = $1", [other.accountId, "\u200B"]);
    expect(await other.put("/api/v2/accounts", await other.get("/api/v2/accounts"))).toMatchObject({ name: "\u200B" });
    await other.put("/api/v2/accounts", { name: "\u2060" }).refused(422, /visible/);
  });
});

test.each(["ア", "é", "e\u0301", "क्षि", "👩‍👩‍👧", "❤️", "a\u200Bb", "שלום\u200F", "."])(
  "%j has a visible character, so it can name an app",
  async (name) => {
    expect(await account.post("/api/v2/apps", { name })).toMatchObject({ name });
  },
);
