import { Type } from "typebox";
import { invalid } from "../lib/fault.ts";
import { checkName } from "../lib/name-rule.ts";

/** An object of the account, identified by its id or by another unique key (a name, an e-mail address). */
export interface Reference {
  id: number | null;
  name: string | null;
}

export interface References {
  ids: number[];
  names: string[];
}

/** `<id or name>` in a path. */
export const PathReference = Type.String({ minLength: 1, maxLength: 255, description: "Id or name" });

/** `5,analysts,ann@example.com` in a body. */
export const ReferenceList = Type.String({
  maxLength: 65_536,
  description: "Comma-separated",
  examples: ["5,analysts"],
});

export function parseReference(text: string): Reference {
  if (!/^\d+$/.test(text)) return { id: null, name: text };
  const id = Number(text);
  return { id: Number.isSafeInteger(id) ? id : null, name: null };
}

/** Empty entries are ignored. Numbers that are too large for an id are treated as names, which match nothing. */
export function parseReferences(text: string): References {
  const parts = new Set(text.split(",").map((part) => part.trim()));
  parts.delete("");
  const ids = new Set<number>();
  const names: string[] = [];
  for (const part of parts) {
    const { id } = parseReference(part);
    if (id === null) names.push(part);
    else ids.add(id);
  }
  return { ids: [...ids], names };
}

/** The name of a group or a role in a request; `checkUniqueName` checks the rules that a schema cannot express. */
export const UniqueName = Type.String({
  minLength: 1,
  maxLength: 255,
  description:
    "Unique in the account; not only digits, no comma, no control characters, at least one visible character",
  examples: ["analysts"],
});

/** Paths and comma-separated lists accept ids and names, so a name must not look like an id, several names or none. */
export function checkUniqueName(name: string): string {
  checkName("name", name);
  if (name.includes(",")) throw invalid("name", "must not contain a comma");
  if (name.trim() !== name) throw invalid("name", "must not start or end with white space");
  if (/^\d+$/.test(name)) throw invalid("name", "must not consist of digits only: it would be read as an id");
  return name;
}
