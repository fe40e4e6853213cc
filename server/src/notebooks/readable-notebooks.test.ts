import { beforeAll, describe, expect, test } from "vitest";
import type { Policy, PolicySource } from "../access/policy/policy.ts";
import { replacePolicy } from "../access/policy/store.ts";
import { useServer, type AccountClient, type MemberClient } from "../../test/support/given.ts";

/**
 * Lists show exactly the notebooks and dashboards that the caller may view, whatever policies there are. The tree and
 * its policies are random, with more places than one batch judges, and the members have different rights.
 */
const given = useServer({ settings: { HEADGATE_RATE_LIMIT: "0" } });

const FOLDERS = 80;
const NOTES = 60;
/** So many readable places that a list gives up the search from the top and judges places in order. */
const EMPTY_FOLDERS = 5_100;
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
      ...(subject === 0 && random(2) === 0 ? {} : { action: [pick(["read", "all", "update"])] }),
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
      "insert into folder (type, name, parent_id, home_id) values ($1, $2, $3, $4) returning id",
      [type, `f${made}`, parent, parent === null ? pick(homes) : null],
    );
    if (folder !== undefined) folders.push(folder.id);
  }
  const objects: number[] = [];
  for (let made = 0; made < NOTES; made += 1) {
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
  for (const id of folders) if (random(6) === 0) await setPolicy("folder", id, randomPolicy());
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

interface RootSetup {
  /** The policy of `Common`; null: no policy, but thousands of empty folders. */
  readonly policy: Policy | null;
  readonly lists: readonly ("notebooks" | "notebook_dashboards")[];
}

/** In turn, objects without a nearer verdict are shown by permissions, hidden from all, shown to one group. */
const ROOT_SETUPS: Record<string, RootSetup> = {
  "without a policy of the root": { policy: [], lists: ["notebooks"] },
  "with a root that denies everyone": { policy: [{ access: "deny" }], lists: ["notebooks", "notebook_dashboards"] },
  "with a root that allows one group": {
    policy: [{ access: "allow", action: ["read"], groups: [] }],
    lists: ["notebooks"],
  },
  "with thousands of empty folders": { policy: null, lists: ["notebooks", "notebook_dashboards"] },
};

describe.each(Object.entries(ROOT_SETUPS))(`lists of seed ${SEED} %s`, (_, { policy, lists }) => {
  beforeAll(async () => {
    const ofRoot = (policy ?? []).map((element) =>
      element.groups === undefined ? element : { ...element, groups: groupIds.slice(1) },
    );
    for (const type of ["notes", "notebook_dashboards"] as const) {
      await setPolicy(`${type}_root`, 0, ofRoot);
      if (policy !== null) continue;
      await rows("insert into folder (type, name) select $1, 'empty ' || n from generate_series(1, $2::integer) n", [
        type,
        EMPTY_FOLDERS,
      ]);
    }
  });

  describe.each(lists)("%s", (list) => {
    const path = `/${list}`;
    const table = list === "notebooks" ? "note" : "dashboard";

    test.each(["a system-user", "a system-user of both groups", "a member without role", "a dashboard-user"])(
      "show %s what they may view, in order and on every page",
      async (who) => {
        const client = members[who];
        if (client === undefined) throw new Error("no such member");
        const all = await rows(`select id from ${table} order by place_folder, place_home, id`);
        const replies = await Promise.all(all.map(({ id }) => client.get(`${path}/${id}`).reply()));
        const visible = all.flatMap(({ id }, index) => (replies[index]?.status === 200 ? [id] : []));
        expect(replies.filter(({ status }) => status === 403)).toHaveLength(all.length - visible.length);
        const listed: number[] = [];
        for (let page = 1; ; page += 1) {
          const reply = await client.get(`${path}?per_page=17&page=${page}`);
          listed.push(...reply[list].map(({ id }: { id: number }) => id));
          if (reply.paging_info.next_page === null) break;
          expect(reply[list]).toHaveLength(17);
        }
        expect(listed).toEqual(visible);
        const inCommon = (await client.get(`${path}?location=Common&per_page=100`))[list];
        const direct = await rows(`select id from ${table} where folder_id is null and home_id is null order by id`);
        expect(inCommon.map(({ id }: { id: number }) => id)).toEqual(
          direct.map(({ id }) => id).filter((id) => visible.includes(id)),
        );
      },
    );
  });
});
