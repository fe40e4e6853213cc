import { LRUCache } from "lru-cache";
import { invalid } from "../lib/fault.ts";
import { RESOURCE_ACTIONS, type RoleStatement } from "./permission.ts";

/** A role's `policies`: a JSON string of `[{resource, action:[…], access}]`. */
const MAX_STATEMENTS = 200;

export function parseRolePolicies(text: string): RoleStatement[] {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw invalid("policies", "must be a JSON string of an array of {resource, action, access}");
  }
  if (!Array.isArray(value)) throw invalid("policies", "must be an array of {resource, action, access}");
  if (value.length > MAX_STATEMENTS) throw invalid("policies", `must have at most ${MAX_STATEMENTS} elements`);
  return value.map((element, index) => parseStatement(element, `policies[${index}]`));
}

function parseStatement(element: unknown, field: string): RoleStatement {
  if (typeof element !== "object" || element === null) throw invalid(field, "must be an object");
  const { resource, action, access }: { resource?: unknown; action?: unknown; access?: unknown } = element;
  if (typeof resource !== "string" || (resource !== "all" && !Object.hasOwn(RESOURCE_ACTIONS, resource))) {
    throw invalid(`${field}.resource`, `must be one of all, ${Object.keys(RESOURCE_ACTIONS).join(", ")}`);
  }
  const allowed: ReadonlySet<string> = new Set(["all", ...actionsOf(resource)]);
  if (
    !Array.isArray(action) ||
    action.length === 0 ||
    !action.every((each: unknown) => typeof each === "string" && allowed.has(each))
  ) {
    throw invalid(`${field}.action`, `must be an array of ${[...allowed].join(", ")}`);
  }
  if (access !== "allow" && access !== "deny") throw invalid(`${field}.access`, "must be allow or deny");
  return { resource, action: [...new Set<string>(action)], access };
}

function actionsOf(resource: string): readonly string[] {
  const known: Record<string, readonly string[]> = RESOURCE_ACTIONS;
  return known[resource] ?? [...new Set(Object.values(RESOURCE_ACTIONS).flat())];
}

const MAX_CACHED_CHARACTERS = 4_000_000;
const parsed = new LRUCache<string, RoleStatement[]>({
  maxSize: MAX_CACHED_CHARACTERS,
  sizeCalculation: (_statements, text) => text.length,
});

/**
 * Parses a stored policy, which was validated before. The same few texts are needed by every request, so results are
 * cached.
 */
export function parsedPolicy(text: string): RoleStatement[] {
  let statements = parsed.get(text);
  if (statements === undefined) {
    statements = parseRolePolicies(text);
    parsed.set(text, statements);
  }
  return statements;
}
