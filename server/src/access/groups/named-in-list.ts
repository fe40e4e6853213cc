import type { Queryable } from "../../db/database.ts";
import { invalid, type Fault } from "../../lib/fault.ts";
import { shownValue } from "../../lib/shown-value.ts";
import { parseReferences, type References } from "../reference.ts";
import { holdRoles, type RoleRow } from "../roles/store.ts";
import { holdMembers } from "./store.ts";

/** Creates the refusal of a list with an unknown user or role: 422 for a field, 404 in a path. */
type Unknown = (reference: string) => Fault;

/** Finds and locks all users of a comma-separated list, or refuses the list. Ids of another account are unknown ids. */
export async function membersNamedIn(db: Queryable, list: string | undefined, unknown: Unknown): Promise<number[]> {
  const references = parseReferences(list ?? "");
  if (isEmpty(references)) return [];
  const rows = await holdMembers(db, references);
  refuseUnknown(references, new Set(rows.flatMap(({ id, named_by }) => [String(id), named_by ?? ""])), unknown);
  return [...new Set(rows.map(({ id }) => id))];
}

/** The same for roles. */
export async function rolesNamedIn(db: Queryable, list: string | undefined, unknown: Unknown): Promise<RoleRow[]> {
  const references = parseReferences(list ?? "");
  if (isEmpty(references)) return [];
  const rows = await holdRoles(db, references);
  refuseUnknown(references, new Set(rows.flatMap(({ id, name }) => [String(id), name])), unknown);
  return rows;
}

export function unknownIn(field: string, kind: "user" | "role"): Unknown {
  return (reference) => invalid(field, `contains an unknown ${kind}: ${shownValue(reference)}`);
}

function isEmpty({ ids, names }: References): boolean {
  return ids.length + names.length === 0;
}

function refuseUnknown({ ids, names }: References, known: ReadonlySet<string>, unknown: Unknown): void {
  const missing = [...ids.map(String), ...names].find((reference) => !known.has(reference));
  if (missing !== undefined) throw unknown(missing);
}
