/**
 * `verdictOf` is compared with a second implementation, which shares no code with it, and with the rows of
 * `policy_rule`, by which lists decide.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { PolicyAction, PolicyElement, Subject } from "./policy.ts";
import { matchingActions, rulesOf } from "./rules.ts";
import { accessOf, verdictOf } from "./verdict.ts";
import { referenceVerdict, type ReferenceVerdict } from "../../../test/support/reference-verdict.ts";

const ME = 7;
const MY_GROUPS = [70, 71];
const me: Subject = { membershipId: ME, groupIds: new Set(MY_GROUPS) };

/** Decides as the SQL of lists does. */
function byRules(policy: readonly PolicyElement[], action: PolicyAction): ReferenceVerdict {
  const weights = rulesOf(policy)
    .filter((rule) => matchingActions(action).includes(rule.action))
    .filter(({ kind, subjectId }) => kind === 0 || (kind === 1 ? MY_GROUPS.includes(subjectId) : subjectId === ME))
    .map(({ weight }) => weight);
  return weights.length === 0 ? null : accessOf(Math.max(...weights));
}

const ACTIONS: readonly PolicyAction[] = ["read", "update", "write", "delete", "start", "terminate", "manage"];

function expectAgreement(policy: readonly PolicyElement[], actions: readonly PolicyAction[]): void {
  for (const action of actions) {
    const expected = referenceVerdict(policy, action, me);
    const verdict = verdictOf(policy, action, me);
    const name = JSON.stringify({ policy, action });
    expect(verdict?.access ?? null, name).toBe(expected);
    expect(verdict === null ? null : policy[verdict.element]?.access, name).toBe(expected);
    expect(byRules(policy, action), name).toBe(expected);
  }
}

const CONDITIONS: readonly Pick<PolicyElement, "users" | "groups">[] = [
  {},
  { users: [ME] },
  { users: [8] },
  { groups: [70] },
  { groups: [99] },
  { users: [8], groups: [71] },
  { users: [ME], groups: [99] },
];
const NAMED_ACTIONS = [["read"], ["manage"], ["all"], ["read", "all"]];
const ELEMENTS: readonly PolicyElement[] = (["allow", "deny"] as const).flatMap((access): PolicyElement[] => [
  { access },
  ...CONDITIONS.flatMap((condition) => NAMED_ACTIONS.map((action) => ({ access, action, ...condition }))),
]);

describe("the verdict of a policy", () => {
  test("agrees with a second implementation on all policies of up to two elements", () => {
    expectAgreement([], ACTIONS);
    for (const first of ELEMENTS) {
      expectAgreement([first], ACTIONS);
      for (const second of ELEMENTS) expectAgreement([first, second], ["read", "update", "manage"]);
    }
  });

  test("agrees with it on random policies, in any order of the elements", () => {
    const ids = (values: readonly number[]) =>
      fc.uniqueArray(fc.constantFrom(...values), { minLength: 1, maxLength: 3 });
    const element = fc.oneof(
      fc.record({ access: fc.constantFrom("allow" as const, "deny" as const) }),
      fc.record(
        {
          access: fc.constantFrom("allow" as const, "deny" as const),
          action: fc.uniqueArray(fc.constantFrom(...ACTIONS, "all"), { minLength: 1, maxLength: 3 }),
          users: ids([ME, 8, 9]),
          groups: ids([70, 71, 72, 99]),
        },
        { requiredKeys: ["access", "action"] },
      ),
    );
    fc.assert(
      fc.property(fc.array(element, { maxLength: 12 }), (policy) => {
        expectAgreement(policy, ACTIONS);
        expectAgreement(policy.toReversed(), ACTIONS);
      }),
      { numRuns: 1000 },
    );
  });

  test.each<[string, PolicyElement[], PolicyAction, ReferenceVerdict]>([
    [
      "a named user outranks their groups",
      [
        { access: "allow", action: ["all"], users: [ME] },
        { access: "deny", action: ["read"], groups: [70] },
      ],
      "read",
      "allow",
    ],
    [
      "a named action outranks all",
      [
        { access: "deny", action: ["all"], users: [ME] },
        { access: "allow", action: ["read"], users: [ME] },
      ],
      "read",
      "allow",
    ],
    ["all does not include manage", [{ access: "allow", action: ["all"], users: [ME] }], "manage", null],
    ["access alone includes manage", [{ access: "deny" }], "manage", "deny"],
    [
      "a group outranks everyone",
      [{ access: "deny" }, { access: "allow", action: ["all"], groups: [71] }],
      "delete",
      "allow",
    ],
    [
      "at equal rank a deny wins",
      [
        { access: "allow", action: ["read"], groups: [70] },
        { access: "deny", action: ["read"], groups: [71] },
      ],
      "read",
      "deny",
    ],
    [
      "elements that name others do not apply",
      [{ access: "deny", action: ["read"], users: [8], groups: [99] }],
      "read",
      null,
    ],
  ])("%s", (_name, policy, action, expected) => {
    expect(verdictOf(policy, action, me)?.access ?? null).toBe(expected);
    expect(referenceVerdict(policy, action, me)).toBe(expected);
  });
});
