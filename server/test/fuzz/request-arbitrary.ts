import fc from "fast-check";
import { anyText } from "../support/any-text.ts";
import type { FieldRule, Fields } from "./field-rules.ts";
import type { OperationRules } from "./operation-input.ts";

/**
 * The state of a field in a request. `absent` is an optional field that is omitted as usual; `missing` is a defect: the
 * field is omitted whether it is required or not.
 */
export type FieldState = "good" | "bad" | "missing" | "null" | "wild" | "absent";

export interface SentField {
  name: string;
  /** The name of the field in messages. */
  shownName: string;
  state: FieldState;
  value: unknown;
  isRequired: boolean;
  isSecret: boolean;
}

export type CallerKind = "admin" | "powerless" | "disabled" | "pending" | "garbage" | "none";

/** The kind of object that a path parameter names. */
export type Target = "own" | "unknown" | "foreign" | "word" | "too large";

/**
 * A request that works, and the defects that were put into it. Every defect is a value of its own, and the first value
 * of each choice is the harmless one, so that fast-check shrinks to the fewest defects that still fail.
 */
export interface FuzzedRequest {
  caller: CallerKind;
  route: "right" | "wrong method" | "unknown path";
  target: Target;
  /** The index of the path parameter that gets the target, modulo the number of parameters. */
  targetAt: number;
  payload: "right" | "broken JSON" | "too large" | "no object";
  query: SentField[];
  body: SentField[];
  unknownKey: boolean;
  suffix: "" | "/" | ".json" | "?";
  contentType: string;
}

export function requestArbitrary(rules: OperationRules): fc.Arbitrary<FuzzedRequest> {
  return fc.record({
    caller: mostly<CallerKind>("admin", "powerless", "disabled", "pending", "garbage", "none"),
    route: mostly<FuzzedRequest["route"]>("right", "wrong method", "unknown path"),
    target: mostly<Target>("own", "unknown", "foreign", "word", "too large"),
    targetAt: fc.nat(3),
    payload: mostly<FuzzedRequest["payload"]>("right", "broken JSON", "too large", "no object"),
    query: fieldsArbitrary(rules.query ?? {}),
    body: fieldsArbitrary(rules.body ?? {}),
    unknownKey: fc.boolean(),
    suffix: fc.constantFrom("", "/", ".json", "?"),
    contentType: fc.constantFrom("application/json", "text/plain", "x"),
  });
}

/** A request without defects that has only the required fields. */
export function workingRequest({ query = {}, body = {} }: OperationRules, seed: number): FuzzedRequest {
  const needed = (fields: Fields): SentField[] =>
    Object.entries(fields)
      .filter(([, { isRequired }]) => isRequired)
      .map(([name, { good, isSecret }]) => {
        const [value] = fc.sample(good, { seed, numRuns: 1 });
        return { name, shownName: name, state: "good", value, isRequired: true, isSecret };
      });
  return {
    caller: "admin",
    route: "right",
    target: "own",
    targetAt: 0,
    payload: "right",
    query: needed(query),
    body: needed(body),
    unknownKey: false,
    suffix: "",
    contentType: "application/json",
  };
}

/** fast-check shrinks towards the first alternative of `oneof`. */
function mostly<T>(usual: T, ...rare: T[]): fc.Arbitrary<T> {
  return fc.oneof(
    { withCrossShrink: true },
    { weight: 12, arbitrary: fc.constant(usual) },
    { weight: 1, arbitrary: fc.constantFrom(...rare) },
  );
}

function fieldsArbitrary(fields: Fields): fc.Arbitrary<SentField[]> {
  const entries = Object.entries(fields);
  return fc.tuple(...entries.map(([name, rule]) => fieldArbitrary(name, rule, entries.length)));
}

/** The more fields there are, the rarer are defects of each, so that requests with many fields often have none. */
function fieldArbitrary(
  name: string,
  { good, bad, isRequired, isSecret, namedAs = name }: FieldRule,
  fieldCount: number,
): fc.Arbitrary<SentField> {
  const sent = (state: FieldState, values: fc.Arbitrary<unknown>): fc.Arbitrary<SentField> =>
    values.map((value) => ({ name, shownName: namedAs, state, value, isRequired, isSecret }));
  const usual = isRequired ? sent("good", good) : sent("absent", fc.constant(undefined));
  // A wild number of seconds could make the server wait, and a wild state could resume the paused node.
  const wilds = name.endsWith("wait_seconds") || name === "state" ? [] : [{ weight: 1, arbitrary: sent("wild", wild) }];
  return fc.oneof(
    { withCrossShrink: true },
    { weight: 8 + 4 * fieldCount, arbitrary: usual },
    { weight: 4 + 2 * fieldCount, arbitrary: sent("good", good) },
    { weight: 2, arbitrary: sent("bad", bad) },
    { weight: 1, arbitrary: sent("missing", fc.constant(undefined)) },
    { weight: 1, arbitrary: sent("null", fc.constant(null)) },
    ...wilds,
  );
}

/** Values that tend to break parsers, validators and databases; the rules do not say whether they are accepted. */
const wild: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(
    "",
    " ",
    -1,
    0,
    1.5,
    2 ** 53,
    1e308,
    "99999999999999999999",
    "1e5",
    "NaN",
    "\u0000",
    "\ud800",
    "x".repeat(300),
    "x".repeat(70_000),
    "'; drop table account; --",
    "%s%n",
    "../../etc/passwd",
    "a,b,,c",
    "é\u202e\ufeff😀",
    "\\",
    '"',
    true,
    [],
    {},
    [null],
    [[[]]],
    JSON.parse('{"__proto__":{"x":1}}'),
    { constructor: { prototype: 1 } },
  ),
  anyText({ maxLength: 20 }),
  fc.jsonValue({ maxDepth: 3 }),
);
