import type { TableEntry } from "../support/permission-table.ts";
import type { OperationRules } from "./operation-input.ts";
import type { FuzzedRequest, SentField } from "./request-arbitrary.ts";

/** The required reply to a request. */
export interface Expectation {
  statuses: readonly number[];
  /** The message must name one of these fields. */
  fields?: readonly string[];
}

/** For wild values: the rules here do not say whether they are accepted. */
const ACCEPTED_OR_REFUSED = [200, 404, 409, 422];

/**
 * Checks apply in this order: router, token, state and permission, body, object, fields. No code of the product is
 * used: permissions come from the hand-written table, fields from the hand-written rules.
 */
export function expectedReply(
  request: FuzzedRequest,
  { operationId, valid = 200 }: OperationRules,
  { permission, hasTarget, hasBody }: { permission: TableEntry; hasTarget: boolean; hasBody: boolean },
): Expectation {
  if (request.route === "unknown path") return only(404);
  if (request.route === "wrong method") return only(405);
  const refusal = refusalOf(request, permission);
  const isAfterBody = request.caller === "powerless" && NAMED_IN_BODY.has(operationId.replace(/_v1_2$/, ""));
  if (refusal !== undefined && !isAfterBody) return only(refusal);
  if (request.payload === "broken JSON") return only(400);
  if (request.payload === "too large") return only(413);
  if (refusal !== undefined) return only(refusal);
  if (hasTarget && request.target !== "own") return only(404);
  if (request.payload === "no object") return only(422);
  const sent = hasBody ? [...request.query, ...request.body] : request.query;
  const broken = sent.filter(isBroken);
  // With a wild field in the request, the message may name that one instead.
  if (broken.length > 0) return sent.some(isWild) ? only(422) : { statuses: [422], fields: broken.map(nameOf) };
  return sent.some(isWild) ? { statuses: ACCEPTED_OR_REFUSED } : only(valid);
}

/**
 * In these operations the body (of a GET: the query or the body) names an object whose policy can admit callers without
 * permission, so their refusal comes after the faults of the body.
 */
const NAMED_IN_BODY: ReadonlySet<string> = new Set([
  "cluster_label_reassign",
  "folder_create",
  "folder_rename",
  "folder_move",
  "folder_policy_set",
  "folder_policy_view",
  "notebook_create",
  "notebook_import",
  "notebook_dashboard_create",
  "object_policy_set",
  "object_policy_view",
  "access_explain",
]);

function only(status: number): Expectation {
  return { statuses: [status] };
}

function refusalOf({ caller }: FuzzedRequest, permission: TableEntry): number | undefined {
  if (permission === "public") return undefined;
  if (caller === "none" || caller === "garbage") return 401;
  if (caller === "disabled" || caller === "pending") return 403;
  if (caller === "admin" || permission === "member") return undefined;
  return permission === "operator" ? 404 : 403;
}

function isBroken({ state, isRequired }: SentField): boolean {
  return state === "bad" || (isRequired && (state === "missing" || state === "null"));
}

function isWild({ state }: SentField): boolean {
  return state === "wild";
}

function nameOf({ shownName }: SentField): string {
  return shownName;
}
