import type { References } from "../access/reference.ts";
import type { Tx } from "../db/database.ts";
import { invalid } from "../lib/fault.ts";
import { shownValue } from "../lib/shown-value.ts";
import { findGroups, type GroupRow } from "./store/groups.ts";

/** Finds groups of the account by id or name; throws if one is unknown. */
export async function resolveGroups(tx: Tx, accountId: number, references: References): Promise<GroupRow[]> {
  const { ids, names } = references;
  if (ids.length + names.length === 0) return [];
  const groups = await findGroups(tx, accountId, references);
  const known = new Set(groups.flatMap(({ id, name }) => [id, name]));
  const unknown = [...ids, ...names].find((reference) => !known.has(reference));
  if (unknown !== undefined) {
    throw invalid("groups", `must contain only groups of the account: there is no ${shownValue(unknown)}`);
  }
  return groups;
}
