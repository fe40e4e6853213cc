/**
 * Hive's names of partitions, in the metastore and as folders: `day=2026-01-31/name=a%3Ab`. Pure. The set of escaped
 * characters must never change, because existing folders have these names.
 */
export const noValue = "__HIVE_DEFAULT_PARTITION__";

/** In characters; the limit of the metastore's column. */
export const longestPartitionName = 767;

export interface PartitionPart {
  readonly column: string;
  readonly value: string;
}

// Control characters are escaped, too.
// oxlint-disable-next-line no-control-regex
const escaped = /[\u0001-\u001f"#%'*/:=?\\\u007f{[\]^]/g;

/** An empty value becomes `noValue`. Column names are in lower case, as in Hive. */
export function partitionName(keys: readonly { readonly name: string }[], values: readonly string[]): string {
  return keys.map(({ name }, index) => `${escapePart(name.toLowerCase())}=${escapedValue(values[index])}`).join("/");
}

function escapedValue(value = ""): string {
  return value === "" ? noValue : escapePart(value);
}

/** Undefined if a part of the name is empty or has no `=`. */
export function parsePartitionName(name: string): PartitionPart[] | undefined {
  const parts: PartitionPart[] = [];
  for (const text of name.split("/")) {
    const [, column, value] = /^([^=]+)=(.+)$/s.exec(text) ?? [];
    if (column === undefined || value === undefined) return undefined;
    parts.push({ column: unescapePart(column), value: unescapePart(value) });
  }
  return parts;
}

function escapePart(text: string): string {
  return text.replaceAll(escaped, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`);
}

/** A `%` that is not followed by two hexadecimal digits is literal. */
export function unescapePart(text: string): string {
  return text.replaceAll(/%([0-9A-Fa-f]{2})/g, (_, digits: string) => String.fromCharCode(parseInt(digits, 16)));
}
