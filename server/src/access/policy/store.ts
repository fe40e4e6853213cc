import type { Queryable, Tx } from "../../db/database.ts";
import type { PolicyChain } from "./access-decision.ts";
import type { ObjectType, FolderRef, Policy, PolicyObject, PolicySource } from "./policy.ts";
import { matchingActions, rulesOf } from "./rules.ts";

/** The key of the object's own policy. Null: objects of its type have none. */
export function ownPolicyKey({ type, id, folderRef }: PolicyObject): { source: PolicySource; sourceId: number } | null {
  if (type === "dashboard") return null;
  if (type !== "folder") return id === null ? null : { source: type, sourceId: id };
  if (id !== null) return { source: "folder", sourceId: id };
  return folderRef === undefined ? null : { source: `${folderRef.type}_root`, sourceId: folderRef.homeId ?? 0 };
}

/** The policies that apply to the object, the nearest first: its own, those of its folders, that of the root. */
export async function readChain(reader: Queryable, object: PolicyObject): Promise<PolicyChain> {
  const own = object.type === "folder" ? null : ownPolicyKey(object);
  if (object.folderRef !== undefined) return readFolderChain(reader, own, object.folderRef);
  if (own === null) return { links: [], homeId: null };
  const rows = await reader.query<{ policy: Policy }>(
    "select elements as policy from object_policy where source_type = $1 and source_id = $2",
    [own.source, own.sourceId],
  );
  return { links: rows.map(({ policy }) => ({ ...own, policy })), homeId: null };
}

interface ChainRow {
  source: PolicySource;
  sourceId: number;
  policy: Policy | null;
  homeId: number | null;
}

/** `depth` orders the policies: 0 is the root, 1 and up are the folders from the top, 1000 is the object's own. */
async function readFolderChain(
  reader: Queryable,
  own: { source: PolicySource; sourceId: number } | null,
  { type, folderId, homeId }: FolderRef,
): Promise<PolicyChain> {
  const rows = await reader.query<ChainRow>(
    `with above as (
       select f.ancestors || f.id as folders, coalesce(f.root_home, $4::bigint, 0) as home
         from (select $3::bigint as id) given left join folder f on f.id = given.id)
     select source.type as source, source.id as "sourceId", p.elements as policy, nullif(a.home, 0) as "homeId"
       from above a cross join lateral (
         select $5 || '_root' as type, a.home as id, 0 as depth
         union all select 'folder', id, depth from unnest(a.folders) with ordinality each (id, depth)
         union all select $1::text, $2::bigint, 1000 where $1 is not null) source
       left join object_policy p on p.source_type = source.type and p.source_id = source.id
      where p.elements is not null or source.depth = 0
      order by source.depth desc`,
    [own?.source ?? null, own?.sourceId ?? null, folderId, homeId, type],
  );
  return {
    links: rows.flatMap(({ source, sourceId, policy }) => (policy === null ? [] : [{ source, sourceId, policy }])),
    homeId: rows.at(-1)?.homeId ?? null,
  };
}

export async function readPolicy(reader: Queryable, source: PolicySource, sourceId: number): Promise<Policy> {
  const [row] = await reader.query<{ policy: Policy }>(
    "select elements as policy from object_policy where source_type = $1 and source_id = $2",
    [source, sourceId],
  );
  return row?.policy ?? [];
}

/** Replaces the whole policy and returns the previous one. An empty policy is the same as none. */
export async function replacePolicy(
  tx: Tx,
  source: PolicySource,
  sourceId: number,
  policy: Policy,
): Promise<{ before: Policy }> {
  const [row] = await tx.query<{ policy: Policy }>(
    "delete from object_policy where source_type = $1 and source_id = $2 returning elements as policy",
    [source, sourceId],
  );
  if (policy.length > 0) insertPolicy(tx, source, sourceId, policy);
  return { before: row?.policy ?? [] };
}

function insertPolicy(tx: Tx, source: PolicySource, sourceId: number, policy: Policy): void {
  tx.send("insert into object_policy (source_type, source_id, elements) values ($1, $2, $3)", [
    source,
    sourceId,
    JSON.stringify(policy),
  ]);
  const rules = rulesOf(policy);
  tx.send(
    `insert into policy_rule (source_type, source_id, kind, subject_id, action, weight)
     select $1, $2, kind, subject_id, action, weight
       from unnest($3::smallint[], $4::bigint[], $5::text[], $6::smallint[]) as rule (kind, subject_id, action, weight)`,
    [
      source,
      sourceId,
      rules.map(({ kind }) => kind),
      rules.map(({ subjectId }) => subjectId),
      rules.map(({ action }) => action),
      rules.map(({ weight }) => weight),
    ],
  );
}

/** Part of the transaction that deletes the objects. */
export function deletePolicies(tx: Tx, source: PolicySource, sourceIds: readonly number[]): void {
  tx.send("delete from object_policy where source_type = $1 and source_id = any ($2)", [source, [...sourceIds]]);
}

/** Lets concurrent changes of one policy wait for each other, so that `before` in the audit is the previous `after`. */
export function lockPolicy(tx: Tx, source: PolicySource, sourceId: number): void {
  tx.send(
    `select pg_advisory_xact_lock(hashtextextended('headgate policy ' || $1 || ' ' || $2::bigint, current_account_id()))`,
    [source, sourceId],
  );
}

/** The tables with owners, as the beginning of a query, for the types that have objects. */
const OWNED_OBJECTS: Partial<Record<ObjectType, string>> = {
  cluster: "cluster where deleted_at is null and",
  note: "note where",
  folder: "folder where",
  dashboard: "dashboard where",
};

/** Whether the caller owns an object of the type, or any policy of these sources has an element that allows reading. */
export async function mayReadSomething(
  system: Queryable,
  accountId: number,
  { type, sources }: { type: ObjectType; sources: readonly PolicySource[] },
  { membershipId, groupIds }: { membershipId: number; groupIds: readonly number[] },
): Promise<boolean> {
  const owned = OWNED_OBJECTS[type];
  // One `exists` for each kind of subject, so that each uses the index.
  const allowed = [
    "kind = 0 and subject_id = 0",
    "kind = 1 and subject_id = any ($3)",
    "kind = 2 and subject_id = $2",
  ].map(
    (rules) => `exists (select from policy_rule where account_id = $1 and source_type = any ($4) and ${rules}
                           and action = any ($5) and weight % 2 = 0)`,
  );
  const isOwner = owned === undefined ? [] : [`exists (select from ${owned} account_id = $1 and owner_id = $2)`];
  const [row] = await system.query<{ some: boolean }>(`select ${[...isOwner, ...allowed].join(" or ")} as some`, [
    accountId,
    membershipId,
    [...groupIds],
    [...sources],
    [...matchingActions("read")],
  ]);
  return row?.some ?? false;
}

/** The ids that are no members or groups of the account. Locks the others until the transaction ends. */
export async function unknownSubjects(
  tx: Tx,
  { users, groups }: { users: readonly number[]; groups: readonly number[] },
): Promise<{ users: number[]; groups: number[] }> {
  const [knownUsers, knownGroups] = await Promise.all([
    tx.query<{ id: number }>("select id from membership where id = any ($1) order by id for key share", [[...users]]),
    tx.query<{ id: number }>("select id from access_group where id = any ($1) order by id for key share", [
      [...groups],
    ]),
  ]);
  const without = (ids: readonly number[], known: readonly { id: number }[]): number[] => {
    const there = new Set(known.map(({ id }) => id));
    return ids.filter((id) => !there.has(id));
  };
  return { users: without(users, knownUsers), groups: without(groups, knownGroups) };
}

/** The ids that still exist. */
export async function knownSubjects(
  reader: Queryable,
  { users, groups }: { users: readonly number[]; groups: readonly number[] },
): Promise<{ users: ReadonlySet<number>; groups: ReadonlySet<number> }> {
  const rows = await reader.query<{ kind: "user" | "group"; id: number }>(
    `select 'user' as kind, id from membership where id = any ($1)
     union all select 'group', id from access_group where id = any ($2)`,
    [[...users], [...groups]],
  );
  const of = (kind: string): ReadonlySet<number> =>
    new Set(rows.filter((row) => row.kind === kind).map(({ id }) => id));
  return { users: of("user"), groups: of("group") };
}
