import { Type } from "typebox";

/** Something of the account named from outside: by its id, or by what else is unique (a name, an e-mail address). */
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

/** As much of a reference as a refusal repeats. */
export function shownReference(reference: string | number): string {
  return [...String(reference)].slice(0, SHOWN_LENGTH).join("");
}

export function parseReference(text: string): Reference {
  if (!/^\d+$/.test(text)) return { id: null, name: text };
  const id = Number(text);
  return { id: Number.isSafeInteger(id) ? id : null, name: null };
}

/** Blanks between commas name nothing. Digits beyond any id stay a name, which nothing has. */
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
