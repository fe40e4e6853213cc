/**
 * `decideAccess` is compared with a second implementation, written from docs/policies.md: first the owner and
 * system-admins, then the object's own policy, those of its folders from the nearest on, the home of another member,
 * and the permission.
 */
import fc from "fast-check";
import { expect, test } from "vitest";
import { referenceVerdict, type ReferenceVerdict } from "../../../test/support/reference-verdict.ts";
import type { PermissionRow } from "../permission.ts";
import { decideAccess, type AuthorisedAction, type PolicyLink } from "./access-decision.ts";
import type { ObjectType, PolicyAction, PolicyElement, PolicyObject } from "./policy.ts";

const ME = 7;
const OTHER = 8;
const ROW: PermissionRow = { groups: ["system-user"], role: "cluster:read" };
const subject = { membershipId: ME, groupIds: new Set([70]) };

interface World {
  type: ObjectType;
  action: AuthorisedAction;
  ownerId: number | null;
  homeId: number | null;
  isAdmin: boolean;
  isPermitted: boolean;
  own: readonly PolicyElement[] | undefined;
  /** The nearest first; the last is that of the root. */
  folders: readonly (readonly PolicyElement[])[];
}

function expected(world: World): boolean {
  const { action, type, isPermitted } = world;
  if (action.startsWith("submit") && !isPermitted) return false;
  if (world.isAdmin || world.ownerId === ME) return true;
  const isForeignHome = world.homeId !== null && world.homeId !== ME;
  switch (action) {
    case "submit":
      return verdict(world, "start") !== "deny";
    case "submit-closed":
      return verdict(world, "start") === "allow";
    case "view-policy":
      if (verdict(world, "manage") === "allow") return true;
      return verdict(world, "read") !== "deny" && isPermitted;
    case "set-policy": {
      if (verdict(world, "manage") === "allow") return true;
      const needed: PolicyAction[] = ["manage", "read", type === "folder" ? "write" : "update"];
      if (needed.some((each) => verdict(world, each) === "deny")) return false;
      return isPermitted && !isForeignHome;
    }
    case "update":
    case "move": {
      if (verdict(world, "read") === "deny") return false;
      const found = verdict(world, action === "move" ? "write" : action);
      if (found !== null) return found === "allow";
      return isPermitted && !isForeignHome;
    }
    default: {
      const found = verdict(world, action);
      if (found !== null) return found === "allow";
      return isPermitted && (action === "read" || !isForeignHome);
    }
  }
}

function verdict({ type, own, folders }: World, action: PolicyAction): ReferenceVerdict {
  const ofFolder = action === "read" || (action === "manage" && type !== "dashboard") ? action : "write";
  const verdicts = [
    ...(own === undefined ? [] : [referenceVerdict(own, action, subject)]),
    ...folders.map((policy) => referenceVerdict(policy, ofFolder, subject)),
  ];
  return verdicts.find((each) => each !== null) ?? null;
}

const ACTIONS: Partial<Record<ObjectType, readonly AuthorisedAction[]>> = {
  cluster: ["read", "update", "delete", "start", "terminate", "set-policy", "view-policy", "submit", "submit-closed"],
  note: ["read", "update", "delete", "set-policy", "view-policy"],
  folder: ["read", "write", "move", "set-policy", "view-policy"],
  dashboard: ["read", "update", "delete"],
};

const element = (actions: readonly string[]): fc.Arbitrary<PolicyElement> =>
  fc.oneof(
    fc.record({ access: fc.constantFrom("allow" as const, "deny" as const) }),
    fc.record(
      {
        access: fc.constantFrom("allow" as const, "deny" as const),
        action: fc.uniqueArray(fc.constantFrom(...actions, "all"), { minLength: 1, maxLength: 2 }),
        users: fc.constantFrom([ME], [OTHER]),
        groups: fc.constantFrom([70], [71]),
      },
      { requiredKeys: ["access", "action"] },
    ),
  );
const policyOf = (...actions: string[]) => fc.array(element(actions), { maxLength: 3 });
const ownPolicy = policyOf("read", "update", "delete", "start", "terminate", "manage");
const folderPolicy = policyOf("read", "write", "manage");

const world: fc.Arbitrary<World> = fc
  .constantFrom(...(Object.keys(ACTIONS) as ObjectType[])) // keys of the record above
  .chain((type) =>
    fc.record({
      type: fc.constant(type),
      action: fc.constantFrom(...(ACTIONS[type] ?? [])),
      ownerId: fc.constantFrom(null, ME, OTHER, OTHER, OTHER),
      homeId: type === "cluster" ? fc.constant(null) : fc.constantFrom(null, ME, OTHER),
      isAdmin: fc.constantFrom(true, false, false, false, false),
      isPermitted: fc.boolean(),
      own: type === "cluster" || type === "note" ? fc.option(ownPolicy, { nil: undefined }) : fc.constant(undefined),
      folders: type === "cluster" ? fc.constant([]) : fc.array(folderPolicy, { maxLength: 3 }),
    }),
  );

function decided({ type, action, ownerId, homeId, isAdmin, isPermitted, own, folders }: World): boolean {
  const links: PolicyLink[] = folders.map((policy, index) =>
    index === folders.length - 1 && index > 0
      ? { source: "notes_root", sourceId: homeId ?? 0, policy }
      : { source: "folder", sourceId: index + 1, policy },
  );
  if (own !== undefined) links.unshift({ source: type === "cluster" ? "cluster" : "note", sourceId: 5, policy: own });
  const groups = [...(isAdmin ? ["system-admin"] : []), ...(isPermitted ? ["system-user"] : [])];
  const caller = { ...subject, groups: new Set(groups), statements: [] };
  const object: PolicyObject = { type, id: 5, ownerId };
  return decideAccess(caller, object, action, ROW, { links, homeId }).isAllowed;
}

test("decideAccess agrees with a second implementation on random objects, policies and callers", () => {
  const outcomes = new Map<string, number>();
  fc.assert(
    fc.property(world, (each) => {
      // The table permits everything to system-admins.
      const given = { ...each, isPermitted: each.isPermitted || each.isAdmin };
      const outcome = expected(given);
      expect(decided(given), JSON.stringify(given)).toBe(outcome);
      const key = `${given.type} ${given.action} ${outcome}`;
      outcomes.set(key, (outcomes.get(key) ?? 0) + 1);
    }),
    { numRuns: 5000 },
  );
  // Every action of every type was both allowed and refused, so the comparison is not empty.
  const pairs = Object.entries(ACTIONS).flatMap(([type, actions]) => actions.map((action) => `${type} ${action}`));
  for (const pair of pairs) {
    for (const outcome of [true, false]) expect(outcomes.get(`${pair} ${outcome}`) ?? 0, pair).toBeGreaterThan(0);
  }
});
