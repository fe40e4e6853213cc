import { isRecord } from "../lib/is-record.ts";

/**
 * Warnings about fields that a body has and the operation does not. Only names are repeated, never values, because
 * those may be secrets.
 */
export type FieldPath = readonly string[];

const DEPTH_AT_MOST = 4;
const WARNINGS_AT_MOST = 50;
const NAME_LENGTH = 64;

/** All values in a field, with their paths. Null and empty objects ask for nothing. */
export function* valuesIn(value: unknown, path: FieldPath): Generator<[FieldPath, unknown], void, undefined> {
  if (value === null || value === undefined) return;
  if (!isRecord(value) || path.length >= DEPTH_AT_MOST) yield [path, value];
  else for (const [name, inner] of Object.entries(value)) yield* valuesIn(inner, [...path, name]);
}

/** `advice` says why a field is ignored and what to do instead. */
export function ignoredWarnings(ignored: readonly FieldPath[], advice: (path: FieldPath) => string): string[] {
  const named = ignored.slice(0, WARNINGS_AT_MOST).map((path) => `${shown(path)} was ignored: ${advice(path)}.`);
  const further = ignored.length - named.length;
  return further === 0 ? named : [...named, `${further} further fields were ignored, too.`];
}

function shown(path: FieldPath): string {
  return path
    .map((name) =>
      /^[\w.-]+$/.test(name) && name.length <= NAME_LENGTH ? name : JSON.stringify(name.slice(0, NAME_LENGTH)),
    )
    .join(".");
}
