import { Type } from "typebox";

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

const SHOWN_LENGTH = 100;

/** The part of a reference that a refusal repeats. */
export function shownReference(reference: string | number): string {
  return [...String(reference)].slice(0, SHOWN_LENGTH).join("");
}

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
