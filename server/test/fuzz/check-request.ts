import assert from "node:assert/strict";
import type { Agent } from "node:http";
import { isRecord } from "../../src/lib/is-record.ts";
import { Client, type Reply } from "../support/client.ts";
import type { Given } from "../support/given.ts";
import type { TableEntry } from "../support/permission-table.ts";
import { rawRequest } from "../support/raw-request.ts";
import { withoutId } from "../support/without-id.ts";
import { expectedReply } from "./expected-reply.ts";
import type { OperationRules } from "./operation-input.ts";
import { parametersOf, planRequest, type PlannedRequest, type Route, type Scene } from "./plan-request.ts";
import type { FuzzedRequest } from "./request-arbitrary.ts";
import { World } from "./world.ts";

export interface FuzzedOperation {
  rules: OperationRules;
  route: Route;
  permission: TableEntry;
  /** Whether a 200 reply matches the OpenAPI document. */
  isDocumented: (reply: Reply) => boolean;
}

export interface Stage {
  given: Given;
  agent: Agent;
  foreign: World;
  operatorToken: string | undefined;
  /** The world of a request that changed nothing, for the next request. */
  spare: World | undefined;
}

/** Sends the request to an unchanged world. Throws unless the outcome is as the request alone determines it. */
export async function checkRequest(fuzzed: FuzzedRequest, operation: FuzzedOperation, stage: Stage): Promise<void> {
  const { rules, route, permission } = operation;
  const world = stage.spare ?? (await World.create(stage.given));
  stage.spare = undefined;
  const operatorToken = permission === "operator" ? stage.operatorToken : undefined;
  const scene: Scene = { world, foreign: stage.foreign, operatorToken };
  const request = withPossibleDefects(fuzzed, operation);
  const planned = await planRequest(request, rules, route, scene);
  const before = await world.fingerprint();
  const send = ({ request: raw }: PlannedRequest): Promise<Reply> =>
    rawRequest(stage.given.base, { ...raw, agent: stage.agent });
  const reply = await send(planned);
  const said = describeExchange(planned, reply);
  checkReply(request, planned, reply, operation);
  // An unknown path is repeated in the reply, with the id that is in it.
  if (request.target === "foreign" && request.route === "right" && reply.status === 404) {
    const unknown = await planRequest({ ...request, target: "unknown" }, rules, route, scene);
    assert.equal(
      withoutId(reply, planned.target ?? ""),
      withoutId(await send(unknown), unknown.target ?? ""),
      `${said}: the reply reveals that another account has the object`,
    );
  }
  if (reply.status === 200 && route.method !== "GET") {
    await checkStoredSecrets(planned, reply, world);
    return;
  }
  if (reply.status === 200 && rules.changesByItself !== true) {
    assert.equal(withoutTimes(await send(planned)), withoutTimes(reply), `${said}: a repeated read got another answer`);
  }
  assert.equal(await world.fingerprint(), before, `${said}: a refusal or a read changed something`);
  stage.spare = world;
}

function checkReply(
  request: FuzzedRequest,
  planned: PlannedRequest,
  reply: Reply,
  { rules, route, permission, isDocumented }: FuzzedOperation,
): void {
  const { status } = reply;
  const said = describeExchange(planned, reply);
  const hasTarget = route.template.includes("{");
  const expected = expectedReply(request, rules, { permission, hasTarget, hasBody: route.method !== "GET" });
  assert.ok(status < 500, `${said}: a server error`);
  assert.ok(reply.headers.has("x-request-id"), `${said}: no request id`);
  for (const secret of planned.secrets) assert.ok(!reply.text.includes(secret), `${said}: the reply contains a secret`);
  assert.ok(expected.statuses.includes(status), `${said}: expected ${expected.statuses.join(" or ")}`);
  if (status === 405)
    assert.ok(reply.headers.get("allow")?.includes(route.method), `${said}: the Allow header lacks ${route.method}`);
  if (status === 200) assert.ok(isDocumented(reply), `${said}: the reply does not match the document`);
  else assert.ok(isErrorForm(reply), `${said}: not the usual error form`);
  const { fields } = expected;
  if (fields === undefined) return;
  const message: string = reply.body.error.error_message;
  assert.ok(
    fields.some((field) => message.includes(field)),
    `${said}: the message names none of ${fields.join(", ")}`,
  );
}

/** Later reads must not show the secrets either, not even to the account's admin. */
async function checkStoredSecrets({ secrets }: PlannedRequest, reply: Reply, { account }: World): Promise<void> {
  const kept = secrets.filter((secret) => secret !== account.token);
  if (kept.length === 0) return;
  const reader = new Client(account.base, reply.body.authentication_token ?? account.token);
  for (const path of ["/account", "/api/v2/accounts", "/commands?all_users=1", "/api/v2/audit_events?per_page=100"]) {
    const { text } = await reader.get(path).reply();
    for (const secret of kept) assert.ok(!text.includes(secret), `${path} shows a secret: ${text}`);
  }
}

/** Their limit is larger than the body that the fuzz test sends as too large. */
const TAKE_LARGE_BODIES: ReadonlySet<string> = new Set([
  "command_submit",
  "notebook_create",
  "notebook_edit",
  "notebook_import",
]);

/** Replaces a defect that the operation cannot have by one that it can have, or by none. */
function withPossibleDefects(request: FuzzedRequest, { rules, route, permission }: FuzzedOperation): FuzzedRequest {
  const names = parametersOf(route);
  const chosen = names[request.targetAt % Math.max(names.length, 1)] ?? "";
  const isShared = permission === "operator" || ["schema", "table"].includes(chosen);
  const mayBeLarge = TAKE_LARGE_BODIES.has(rules.operationId) && request.payload === "too large";
  const possible: FuzzedRequest = {
    ...request,
    target: isShared && request.target === "foreign" ? "unknown" : request.target,
    payload: route.method === "GET" || mayBeLarge ? "right" : request.payload,
  };
  return route.template.startsWith("/api/v2/files") ? withPossibleFile(possible, rules.operationId) : possible;
}

/** Everything after `files/` is the path of a file, whatever its end. Every path and every body can be uploaded. */
function withPossibleFile(request: FuzzedRequest, operationId: string): FuzzedRequest {
  const { route, suffix } = request;
  const isUpload = operationId === "file_upload";
  return {
    ...request,
    route: route === "unknown path" ? "right" : route,
    suffix: suffix === "?" || operationId === "file_list" ? suffix : "",
    ...(isUpload ? { target: "own", payload: "right" } : {}),
  };
}

function describeExchange({ request: { method, path, body } }: PlannedRequest, { status, text }: Reply): string {
  return `${method} ${path.slice(0, 300)} ${String(body ?? "").slice(0, 500)} -> ${status} ${text.slice(0, 500)}`;
}

/** The text without the values that change with time. */
function withoutTimes({ text }: Reply): string {
  return text.replaceAll(/"(last_login|last_seen|waiting_reason|heartbeat_at)":("[^"]*"|null)/g, '"$1":"<time>"');
}

function isErrorForm({ status, body }: Reply): boolean {
  const error: unknown = isRecord(body) && Object.keys(body).length === 1 ? body.error : undefined;
  return (
    isRecord(error) &&
    Object.keys(error).join() === "error_code,error_message" &&
    error.error_code === status &&
    typeof error.error_message === "string" &&
    error.error_message !== ""
  );
}
