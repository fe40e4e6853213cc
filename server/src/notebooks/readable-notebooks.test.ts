/**
 * Lists show exactly the notebooks, dashboards and folders that the caller may view, whatever policies there are, and
 * folders are deleted with exactly what the caller may delete. The tree and its policies are random, and the members have
 * different rights.
 */
import { beforeAll, describe, expect, test } from "vitest";
import { listPrincipalsPage } from "../access/members/store.ts";
import { authoriseEach } from "../access/policy/authorise.ts";
import { OBJECT_PERMISSIONS } from "../access/policy/object-permissions.ts";
import type { Policy, PolicySource } from "../access/policy/policy.ts";
import { replacePolicy } from "../access/policy/store.ts";
import { folderRefOf, policyObjectOf } from "../folders/find-by-location.ts";
import { mayDeleteBelow } from "../folders/may-delete-below.ts";
import { COLUMNS, type FolderRow } from "../folders/store/folders.ts";
import { useServer, type AccountClient, type MemberClient } from "../../test/support/given.ts";

const given = useServer({ settings: { HEADGATE_RATE_LIMIT: "0" } });

const FOLDERS = 80;
const NOTEBOOKS = 60;
/** Part of the test names, so a failure shows it. */
const SEED = 20_261_118;

let state = SEED;
/** Linear congruential: the same tree on every run. */
function random(below: number): number {
  state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
  return Math.floor((state / 2 ** 31) * below);
}
const pick = <T>(values: readonly T[]): T => values[random(values.length)] as T; // never empty here

type Rows = readonly { id: number }[];

let account: AccountClient;
let members: Record<string, MemberClient>;
const groupIds: number[] = [];

async function rows(text: string, values: readonly unknown[] = []): Promise<Rows> {
  return given.app.services.db.asAccount(account.accountId, (tx) => tx.query<{ id: number }>(text, values));
}

async function setPolicy(source: PolicySource, id: number, policy: Policy): Promise<void> {
  await given.app.services.db.asAccount(account.accountId, async (tx) => {
    await replacePolicy(tx, source, id, policy);
    if (source === "note") tx.send("update note set has_policy = true where id = $1", [id]);
  });
}

function randomPolicy(): Policy {
  return Array.from({ length: 1 + random(3) }, () => {
    const subject = random(5);
    return {
      access: pick(["allow", "deny"] as const),
      ...(subject === 0 && random(2) === 0 ? {} : { action: [pick(["read", "all", "write", "delete"])] }),
      ...(subject === 1 || subject === 2 ? { users: [pick(Object.values(members)).membershipId] } : {}),
      ...(subject >= 3 ? { groups: [pick(groupIds)] } : {}),
    };
  });
}

async function fill(type: "notes" | "notebook_dashboards", table: "note" | "dashboard"): Promise<void> {
  const homes = [null, ...Object.values(members).map(({ membershipId }) => membershipId)];
  const folders: number[] = [];
  for (let made = 0; made < FOLDERS; made += 1) {
    const parent = folders.length > 0 && random(3) > 0 ? pick(folders) : null;
    const [folder] = await rows(
      "insert into folder (type, name, parent_id, home_id, owner_id) values ($1, $2, $3, $4, $5) returning id",
      [type, `f${made}`, parent, parent === null ? pick(homes) : null, pick(homes)],
    );
    if (folder !== undefined) folders.push(folder.id);
  }
  const objects: number[] = [];
  for (let made = 0; made < NOTEBOOKS; made += 1) {
    const folder = random(5) > 0 ? pick(folders) : null;
    const values = [folder, folder === null ? pick(homes) : null, `n${made}`, pick(homes)];
    const columns = table === "note" ? "note_type, folder_id" : "folder_id";
    const [object] = await rows(
      `with o as (insert into ${table} (${columns}, home_id, name, owner_id)
         values (${table === "note" ? "'spark', " : ""}$1, $2, $3, $4) returning id)
       insert into ${table}_content (${table}_id, paragraphs) select id, '[]' from o returning ${table}_id as id`,
      values,
    );
    if (object !== undefined) objects.push(object.id);
  }
  for (const id of folders) if (random(4) === 0) await setPolicy("folder", id, randomPolicy());
  if (table === "note") for (const id of objects) if (random(6) === 0) await setPolicy("note", id, randomPolicy());
}

beforeAll(async () => {
  account = await given.account();
  for (const name of ["blue", "red"]) {
    const { group } = await account.post("/groups", { name });
    groupIds.push(group.id);
  }
  const member = (...groups: string[]): Promise<MemberClient> => given.member(account, { groups });
  members = {
    "a system-user": await member("system-user"),
    "a system-user of both groups": await member("system-user", "blue", "red"),
    "a member without role": await member("red"),
    "a dashboard-user": await member("dashboard-user", "blue"),
  };
  await fill("notes", "note");
  await fill("notebook_dashboards", "dashboard");
});

const MEMBERS = ["a system-user", "a system-user of both groups", "a member without role", "a dashboard-user"] as const;
const LISTS = {
  notebooks: { table: "note", order: "place_folder, place_home, id", query: "" },
  notebook_dashboards: { table: "dashboard", order: "place_folder, place_home, id", query: "" },
  folders: { table: "folder", order: "id", query: "&type=notes" },
} as const;

/** In turn, objects without a nearer verdict are shown by permissions, hidden from all, shown to one group. */
const ROOT_POLICIES: Record<string, () => Policy> = {
  "without a policy of the root": () => [],
  "with a root that denies everyone": () => [{ access: "deny" }],
  "with a root that allows one group": () => [{ access: "allow", action: ["read"], groups: groupIds.slice(1) }],
};

describe.each(Object.entries(ROOT_POLICIES))(`lists of seed ${SEED} %s`, (_, policy) => {
  beforeAll(async () => {
    const [home] = Object.values(members);
    for (const type of ["notes", "notebook_dashboards"] as const) {
      for (const root of [0, home?.membershipId ?? 0]) await setPolicy(`${type}_root`, root, policy());
    }
  });

  describe.each(Object.entries(LISTS))("%s", (list, { table, order, query }) => {
    async function listed(client: MemberClient, filter: string, perPage: number): Promise<number[]> {
      const ids: number[] = [];
      for (let page = 1; ; page += 1) {
        const reply = await client.get(`/${list}?per_page=${perPage}&page=${page}${filter}${query}`);
        ids.push(...reply[list].map(({ id }: { id: number }) => id));
        if (reply.paging_info.next_page === null) return ids;
        expect(reply[list]).toHaveLength(perPage);
      }
    }

    test("show each member what they may view, in order and on every page", async () => {
      const [parent, ofType] = list === "folders" ? ["parent_id", "type = 'notes'"] : ["folder_id", "true"];
      const all = (await rows(`select id from ${table} where ${ofType} order by ${order}`)).map(({ id }) => id);
      const direct = await rows(
        `select id from ${table} where ${ofType} and ${parent} is null and home_id is null
          order by ${list === "folders" ? "name" : "id"}`,
      );
      const counts = new Set<number>();
      for (const who of MEMBERS) {
        const client = members[who];
        if (client === undefined) throw new Error("no such member");
        const replies = await Promise.all(all.map((id) => client.get(`/${list}/${id}`).reply()));
        const visible = all.filter((_id, index) => replies[index]?.status === 200);
        expect(replies.filter(({ status }) => status === 403)).toHaveLength(all.length - visible.length);
        expect(await listed(client, "", 17), who).toEqual(visible);
        const inCommon = direct.map(({ id }) => id).filter((id) => visible.includes(id));
        expect(await listed(client, "&location=Common", 100), who).toEqual(inCommon);
        counts.add(visible.length);
      }
      // The members see different parts, so the comparison means something.
      expect(Math.max(...counts)).toBeGreaterThan(5);
      expect(Math.min(...counts)).toBeLessThan(all.length);
      expect(counts.size).toBeGreaterThan(1);
    });
  });

  test.each([
    ["notes", "note"],
    ["notebook_dashboards", "dashboard"],
  ] as const)("folders of %s are deleted only with what the caller may delete", async (tree, type) => {
    await given.app.services.db.asAccount(account.accountId, async (tx) => {
      const users = await listPrincipalsPage(tx, 10, 0);
      const folders = await tx.query<FolderRow>(
        `select ${COLUMNS} from folder f where f.type = $1 and exists (select from ${type} where folder_id = f.id)`,
        [tree],
      );
      const counts = new Set<number>();
      for (const folder of folders) {
        const contents = await tx.query<{ id: number; ownerId: number | null }>(
          `select id, owner_id as "ownerId" from ${type} where folder_id = $1`,
          [folder.id],
        );
        const decisions = [
          await authoriseEach(tx, users, {
            object: policyObjectOf(folder),
            action: "write",
            row: OBJECT_PERMISSIONS.folder.write,
          }),
        ];
        for (const content of contents) {
          const object = { type, ...content, folderRef: folderRefOf(folder) };
          decisions.push(
            await authoriseEach(tx, users, { object, action: "delete", row: OBJECT_PERMISSIONS[type].delete }),
          );
        }
        const allowed = users.filter((_, index) => decisions.every((each) => each[index]?.decision.isAllowed));
        const deletable: typeof users = [];
        for (const caller of users) {
          const scope = { ...caller, groupIds: [...caller.groupIds], isFiltered: true, byPermission: false };
          // As if the folder lay directly below the deleted one.
          if (await mayDeleteBelow(tx, { caller, scope }, { ...folder, id: 0 }, [folder.id])) deletable.push(caller);
        }
        expect(deletable, folder.name).toEqual(allowed);
        counts.add(allowed.length);
      }
      expect(counts.size).toBeGreaterThan(2);
    });
  });
});
