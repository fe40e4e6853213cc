/**
 * The rule of one field: values that must be accepted, and values that must be refused with 422 and the field's name.
 * It is written by hand from the specification and the decisions about it, not from the product's schemas.
 */
import fc from "fast-check";

export interface FieldRule {
  good: fc.Arbitrary<unknown>;
  bad: fc.Arbitrary<unknown>;
  isRequired: boolean;
  /** A reply must never contain its value. */
  isSecret: boolean;
  /** The field's name in messages, if it differs. */
  namedAs?: string;
}

/** `@own:name` as a value stands for an object of the caller; `planRequest` fills in its id. */
export type Fields = Record<string, FieldRule>;

const NOT_SCALAR = [[], {}, [["x"]]];

function rule(good: fc.Arbitrary<unknown>, bad: readonly unknown[]): FieldRule {
  return { good, bad: fc.constantFrom(...bad), isRequired: false, isSecret: false };
}

export function required(each: FieldRule): FieldRule {
  return { ...each, isRequired: true };
}

/** `hasLeast: false`: no document says what the least value is, so values below it are not tried. */
export function integer(least: number, most: number, { hasLeast = true } = {}): FieldRule {
  const good = fc.integer({ min: least, max: Math.min(most, least + 1000) });
  const beyond = most === Infinity ? [] : [most + 1, String(most + 1)];
  const below = hasLeast ? [least - 1] : [];
  return rule(fc.oneof(good, good.map(String)), [...beyond, ...below, "x", "1.5", least + 0.5, ...NOT_SCALAR]);
}

const LETTERS = "abcdefghijklmnopqrstuvwxyzABCXYZ0189-_. éß漢".split("");
const words = fc
  .string({ unit: fc.constantFrom(...LETTERS), minLength: 1, maxLength: 20 })
  .map((text) => `n${text.trim()}`);

export function text(most: number, { bad = [] as readonly unknown[], mayBeEmpty = false } = {}): FieldRule {
  const empty = mayBeEmpty ? [] : [""];
  return rule(words, ["x".repeat(most + 1), ...empty, ...NOT_SCALAR, ...bad]);
}

export const flag = rule(fc.constantFrom<unknown>(true, false, "true", "True", "false"), ["perhaps", ...NOT_SCALAR]);

export function oneOf(...values: readonly unknown[]): FieldRule {
  return rule(fc.constantFrom(...values), ["no-such-value", ...NOT_SCALAR]);
}

export function among(good: readonly unknown[], bad: readonly unknown[]): FieldRule {
  return rule(fc.constantFrom(...good), bad);
}

/** A field whose values are all refused; only null counts as absent. */
export function refused(...values: readonly unknown[]): FieldRule {
  return { ...rule(fc.constant(null), values), good: fc.constant(null) };
}

export function secret(most: number): FieldRule {
  const value = fc
    .array(fc.constantFrom(..."0123456789abcdef".split("")), { minLength: 24, maxLength: 24 })
    .map((digits) => `S3cr3t${digits.join("")}`);
  return {
    good: value,
    bad: fc.oneof(
      value.map((each) => each.repeat(Math.ceil((most + 1) / each.length))),
      value.map((each) => [each]),
      value.map((each) => ({ [each]: each })),
    ),
    isRequired: false,
    isSecret: true,
  };
}
