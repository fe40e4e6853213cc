import fc from "fast-check";

/**
 * The rule of one field, written by hand from the specification and its decisions, not from the product's schemas:
 * values that must be taken, and values that must be refused with 422 and the field's name.
 */
export interface FieldRule {
  good: fc.Arbitrary<unknown>;
  bad: fc.Arbitrary<unknown>;
  isRequired: boolean;
  /** Its value must never be in a reply. */
  isSecret: boolean;
  /** Where the message has other words for it. */
  namedAs?: string;
}

/** `@own:name` in a value stands for an object of the caller; the sender fills it in. */
export type Fields = Record<string, FieldRule>;

const NO_SCALAR = [[], {}, [["x"]]];

function rule(good: fc.Arbitrary<unknown>, bad: readonly unknown[]): FieldRule {
  return { good, bad: fc.constantFrom(...bad), isRequired: false, isSecret: false };
}

export function required(each: FieldRule): FieldRule {
  return { ...each, isRequired: true };
}

/** Only what is refused below the least value is left out where no document says what that is. */
export function integer(least: number, most: number, { hasLeast = true } = {}): FieldRule {
  const good = fc.integer({ min: least, max: Math.min(most, least + 1000) });
  const beyond = most === Infinity ? [] : [most + 1, String(most + 1)];
  const below = hasLeast ? [least - 1] : [];
  return rule(fc.oneof(good, good.map(String)), [...beyond, ...below, "x", "1.5", least + 0.5, ...NO_SCALAR]);
}

const LETTERS = "abcdefghijklmnopqrstuvwxyzABCXYZ0189-_. éß漢".split("");
const words = fc
  .string({ unit: fc.constantFrom(...LETTERS), minLength: 1, maxLength: 20 })
  .map((text) => `n${text.trim()}`);

export function text(most: number, { bad = [] as readonly unknown[], mayBeEmpty = false } = {}): FieldRule {
  const empty = mayBeEmpty ? [] : [""];
  return rule(words, ["x".repeat(most + 1), ...empty, ...NO_SCALAR, ...bad]);
}

export const flag = rule(fc.constantFrom<unknown>(true, false, "true", "True", "false"), ["perhaps", ...NO_SCALAR]);

export function oneOf(...values: readonly unknown[]): FieldRule {
  return rule(fc.constantFrom(...values), ["no-such-value", ...NO_SCALAR]);
}

export function among(good: readonly unknown[], bad: readonly unknown[]): FieldRule {
  return rule(fc.constantFrom(...good), bad);
}

/** Never taken, whatever it is. */
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
