import { invalid } from "../../lib/fault.ts";
import type { GivenValue } from "./value-spellings.ts";

/** The limit is Hive's. */
const LONGEST_VALUE = 256;

/**
 * §4.9: an array of values, or a string in brackets that is split at commas. Whitespace and quotes around a value are
 * removed. Pure.
 */
export function givenValues(field: string, given: unknown): readonly GivenValue[] {
  const values = typeof given === "string" ? bracketed(field, given) : given;
  if (!Array.isArray(values)) throw invalid(field, "must be an array of values, or a string such as [a, b]");
  if (values.length === 0) throw invalid(field, "must have at least one value");
  return values.map((value: unknown, at) => checkedValue(`${field}[${at}]`, value));
}

function bracketed(field: string, text: string): readonly string[] {
  const [, inside] = /^\s*\[(.*)\]\s*$/s.exec(text) ?? [];
  if (inside === undefined) throw invalid(field, "must be an array of values, or a string such as [a, b]");
  if (inside.trim() === "") return [];
  return inside.split(",").map((piece) => unquoted(piece.trim()));
}

function unquoted(text: string): string {
  const [, , inside] = /^(["'])(.*)\1$/s.exec(text) ?? [];
  return inside ?? text;
}

function checkedValue(field: string, value: unknown): GivenValue {
  if (value === null || typeof value === "boolean") return value;
  if (typeof value === "number") {
    // JSON numbers are read as doubles: a larger integer would silently become another number.
    if (Number.isInteger(value) && !Number.isSafeInteger(value)) {
      throw invalid(field, "is too large for a JSON number: send it as a string");
    }
    return value;
  }
  if (typeof value !== "string") throw invalid(field, "must be a string, a number, true, false or null");
  if (value.length > LONGEST_VALUE) throw invalid(field, `must have at most ${LONGEST_VALUE} characters`);
  if (value.includes("\u0000") || !value.isWellFormed()) {
    throw invalid(field, "must be well-formed Unicode without U+0000");
  }
  return value;
}
