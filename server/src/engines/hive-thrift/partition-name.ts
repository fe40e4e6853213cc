/**
 * How Hive names partitions, in the metastore and as folders: `day=2026-01-31/name=a%3Ab`. Pure. Which characters are
 * written as `%` and two digits is fixed for ever, because folders are named so.
 */
export const noValue = "__HIVE_DEFAULT_PARTITION__";

/** In characters: a metastore keeps no longer ones. */
export const longestPartitionName = 767;

export interface PartitionPart {
  readonly column: string;
  readonly value: string;
}

// Control characters are the point of it.
// oxlint-disable-next-line no-control-regex
const escaped = /[\u0001-\u001f"#%'*/:=?\\\u007f{[\]^]/g;

/** A value that is empty is no value. Columns are in lower case, as all of Hive's are. */
export function partitionName(keys: readonly { readonly name: string }[], values: readonly string[]): string {
  return keys.map(({ name }, index) => `${escapePart(name.toLowerCase())}=${escapedValue(values[index])}`).join("/");
}

function escapedValue(value = ""): string {
  return value === "" ? noValue : escapePart(value);
}

/** Undefined when the text is no such name: a part without `=`, or an empty one. */
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

/** A `%` without two digits behind it means itself. */
export function unescapePart(text: string): string {
  return text.replaceAll(/%([0-9A-Fa-f]{2})/g, (_, digits: string) => String.fromCharCode(parseInt(digits, 16)));
}
