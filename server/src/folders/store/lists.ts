import type { FolderType, Place } from "../../access/policy/policy.ts";
import { matchingActions } from "../../access/policy/rules.ts";
import { scopeValues, verdictOn, type ReadScope } from "../../access/policy/read-scope.ts";
import type { Queryable } from "../../db/database.ts";
import { COLUMNS, type FolderRow } from "./places.ts";
import { nearestVerdict } from "./verdicts.ts";

interface PageBounds {
  limit: number;
  offset: number;
}

const IN_PLACE =
  "f.type = $3 and coalesce(f.parent_id, 0) = coalesce($4::bigint, 0) and coalesce(f.home_id, 0) = coalesce($5::bigint, 0)";

/**
 * The readable folders directly in the place, by name. All of them inherit the same verdict: either most are readable
 * and those with another verdict are left out, or only those are read that a policy or ownership shows.
 */
export async function listChildren(
  reader: Queryable,
  scope: ReadScope,
  place: Place,
  { limit, offset }: PageBounds,
): Promise<FolderRow[]> {
  const { type, folderId, homeId } = place;
  const values = [limit, offset, type, folderId, homeId];
  if (!scope.isFiltered) {
    return reader.query(`select ${COLUMNS} from folder f where ${IN_PLACE} order by f.name limit $1 offset $2`, values);
  }
  const inherited = await nearestVerdict(reader, scope, place);
  const verdict = verdictOn("'folder'", "f.id", 6);
  const shown = inherited
    ? `select ${COLUMNS} from folder f
        where ${IN_PLACE} and $6::boolean is not null
          and (f.owner_id = $7::bigint or coalesce(${verdict} % 2 = 0, true))`
    : `select ${COLUMNS} from folder f where ${IN_PLACE} and f.owner_id = $7::bigint and $6::boolean is not null
       union
       select ${COLUMNS} from folder f
        where ${IN_PLACE} and f.id in (${allowedSources("'folder'", 6)}) and ${verdict} % 2 = 0`;
  return reader.query(`select * from (${shown}) shown order by name limit $1 offset $2`, [
    ...values,
    ...scopeValues(scope),
  ]);
}

export async function listAll(reader: Queryable, type: FolderType, page: PageBounds): Promise<FolderRow[]> {
  return reader.query(`select ${COLUMNS} from folder f where f.type = $1 order by f.id limit $2 offset $3`, [
    type,
    page.limit,
    page.offset,
  ]);
}

export async function readFolders(reader: Queryable, ids: readonly number[]): Promise<FolderRow[]> {
  if (ids.length === 0) return [];
  return reader.query(`select ${COLUMNS} from folder f where f.id = any ($1) order by f.id`, [[...ids]]);
}

/**
 * The readable folders of the type, by id: from the readable roots and from folders with a policy that allows reading,
 * down to those with a policy that denies it.
 */
export async function listReadable(
  reader: Queryable,
  scope: ReadScope,
  type: FolderType,
  { limit, offset }: PageBounds,
): Promise<FolderRow[]> {
  const own = verdictOn("'folder'", "f.id", 4);
  const root = verdictOn("$3::text || '_root'", "coalesce(f.home_id, 0)", 4);
  const inRoots = scope.byTable ? "true" : `coalesce(f.home_id, 0) in (${allowedSources("$3::text || '_root'", 4)})`;
  return reader.query(
    `with recursive walk as (
       (select f.id from folder f
         where f.type = $3 and coalesce(f.parent_id, 0) = 0 and ${inRoots}
           and coalesce(${root} % 2 = 0, $4::boolean) and coalesce(${own} % 2 = 0, true)
        union
        select f.id from folder f
         where f.type = $3 and f.id in (${allowedSources("'folder'", 4)}) and ${own} % 2 = 0)
       union
       select f.id from walk w join folder f on f.parent_id = w.id where coalesce(${own} % 2 = 0, true)),
     shown as (
       select w.id from walk w
       union
       select f.id from folder f where f.type = $3 and f.owner_id = $5::bigint)
     select ${COLUMNS} from folder f
      where f.id in (select s.id from shown s order by s.id limit $1 offset $2) order by f.id`,
    [limit, offset, type, ...scopeValues(scope)],
  );
}

/** SQL: the ids of the sources whose policies have an element that allows the caller to read. */
function allowedSources(source: string, first: number): string {
  const actions = matchingActions("read").map((action) => `'${action}'`);
  const matching = (kind: number, subject: string): string =>
    `select rule.source_id from policy_rule rule
      where rule.source_type = ${source} and rule.kind = ${kind} and rule.subject_id = ${subject}
        and rule.action in (${actions.join(", ")}) and rule.weight % 2 = 0`;
  return [matching(0, "0"), matching(1, `any ($${first + 2}::bigint[])`), matching(2, `$${first + 1}::bigint`)].join(
    " union all ",
  );
}
