import { invalid } from "../../lib/fault.ts";
import { isRecord } from "../../lib/is-record.ts";
import { SOURCE_ACTIONS, type Policy, type PolicyElement, type SourceType } from "./policy.ts";

export const MAX_ELEMENTS = 200;
/** Each id is stored as one row of `policy_rule` per action. */
const MAX_IDS = 2000;

const FORM = "[{access, action, condition: {svc_users, svc_groups}}]";

/** §2.6: a policy is sent as the JSON text of an array. The array itself is accepted, too. */
export function parsePolicy(given: string | readonly unknown[], type: SourceType | "folder"): Policy {
  const value = typeof given === "string" ? parseText(given) : given;
  if (!Array.isArray(value)) throw invalid("policy", `must be an array: ${FORM}`);
  if (value.length > MAX_ELEMENTS) throw invalid("policy", `must have at most ${MAX_ELEMENTS} elements`);
  const policy = value.map((element: unknown, index) => parseElement(element, `policy[${index}]`, type));
  const ids = policy.reduce((sum, { users = [], groups = [] }) => sum + users.length + groups.length, 0);
  if (ids > MAX_IDS) {
    throw invalid("policy", `must name at most ${MAX_IDS} users and groups: name groups instead of their users`);
  }
  return policy;
}

function parseText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw invalid("policy", `must be an array, or the JSON text of one: ${FORM}`);
  }
}

function parseElement(element: unknown, field: string, type: SourceType | "folder"): PolicyElement {
  if (!isRecord(element)) throw invalid(field, "must be an object with access, action and condition");
  const { access, action = null, condition = null } = element;
  if (access !== "allow" && access !== "deny") throw invalid(`${field}.access`, "must be allow or deny");
  if (action === null) {
    if (condition === null) return { access };
    throw invalid(`${field}.action`, "is required with a condition: name the actions, or all");
  }
  return {
    access,
    action: parseActions(action, `${field}.action`, type),
    ...(condition === null ? {} : parseCondition(condition, `${field}.condition`)),
  };
}

function parseActions(value: unknown, field: string, type: SourceType | "folder"): string[] {
  const allowed: readonly string[] = [...SOURCE_ACTIONS[type], "all"];
  const isAction = (each: unknown): each is string => typeof each === "string" && allowed.includes(each);
  if (!Array.isArray(value) || value.length === 0 || !value.every(isAction)) {
    throw invalid(field, `must be a non-empty array of ${allowed.join(", ")}`);
  }
  return [...new Set(value)];
}

/** Refuses a condition without ids, because it matches no one. */
function parseCondition(value: unknown, field: string): Pick<PolicyElement, "users" | "groups"> {
  if (!isRecord(value)) throw invalid(field, "must be an object with svc_users, svc_groups or both");
  const users = parseIds(value.svc_users ?? [], `${field}.svc_users`, "accounts/get_users");
  const groups = parseIds(value.svc_groups ?? [], `${field}.svc_groups`, "groups");
  if (users.length === 0 && groups.length === 0) {
    throw invalid(field, "must name a user or a group; leave it out for an element that applies to everyone");
  }
  return { ...(users.length > 0 ? { users } : {}), ...(groups.length > 0 ? { groups } : {}) };
}

/** `list` is the path of the list that shows the ids. */
function parseIds(value: unknown, field: string, list: string): number[] {
  if (!Array.isArray(value)) throw invalid(field, `must be an array of ids: GET ${list} shows them`);
  const ids = value.map((each: unknown) => {
    const id = typeof each === "string" && /^\d{1,16}$/.test(each) ? Number(each) : each;
    if (typeof id !== "number" || !Number.isSafeInteger(id) || id < 1) {
      throw invalid(field, `must be an array of ids, each a whole number from 1: GET ${list} shows them`);
    }
    return id;
  });
  return [...new Set(ids)];
}
