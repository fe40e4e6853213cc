import { readFileSync } from "node:fs";
import { Agent } from "node:http";
import { join } from "node:path";
import fc from "fast-check";
import { Compile } from "typebox/schema";
import { describe, expect, test } from "vitest";
import { isRecord } from "../src/http/lenient.ts";
import { isReference, type JsonSchema, type OpenApiDocument } from "../src/http/openapi/document.ts";
import type { Reply } from "./support/client.ts";
import { useServer, type AccountClient } from "./support/given.ts";
import { rawRequest } from "./support/raw-request.ts";
import { repositoryDir } from "./support/repository-dir.ts";
import { operationsOf, OWN, requestArbitrary, type FuzzedRequest } from "./support/request-arbitrary.ts";

/**
 * Requests made up from the committed document: nothing a client sends is an error of ours, every refusal has the one
 * form, and every reply is what the document says. The seed is fixed; HEADGATE_FUZZ_SEED tries another.
 */
const REQUESTS = 5_000;
const CHUNK = 100;
const AT_ONCE = 12;
const SEED = Number(process.env.HEADGATE_FUZZ_SEED ?? 20_260_101);

const given = useServer({ settings: { HEADGATE_RATE_LIMIT: "0", HEADGATE_BAD_TOKEN_LIMIT: "0" } });
const document: OpenApiDocument = JSON.parse(readFileSync(join(repositoryDir, "api/openapi.json"), "utf8"));
const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE });

describe("requests made up from api/openapi.json", () => {
  test(`${REQUESTS} of seed ${SEED} are answered as documented`, { timeout: 300_000 }, async () => {
    const requests = fc.sample(requestArbitrary(document), { seed: SEED, numRuns: REQUESTS });
    const checks = replyChecks();
    const wrong: string[] = [];
    const succeeded = new Set<string>();
    for (let at = 0; at < requests.length; at += CHUNK) {
      const cast = await callers();
      await inParallel(requests.slice(at, at + CHUNK), async (request) => {
        const { path, reply } = await send(request, cast);
        const fault = faultOf(request, reply, checks);
        if (fault !== undefined) {
          wrong.push(
            `${fault}: ${request.method} ${path.slice(0, 300)} ${request.body?.slice(0, 300)} -> ${reply.status} ${reply.text.slice(0, 300)}`,
          );
        }
        if (request.isOwnRoute && reply.status === 200) succeeded.add(request.operationId);
      });
    }
    expect(wrong).toEqual([]);
    // Otherwise the replies of most operations would never have been looked at.
    expect(succeeded.size).toBeGreaterThan(operationsOf(document).length * 0.8);
  });
});

function faultOf(
  { operationId, isOwnRoute, method }: FuzzedRequest,
  reply: Reply,
  checks: ReplyChecks,
): string | undefined {
  if (reply.status >= 500 && !isOfOtherServer(reply)) return "an error of ours";
  if (reply.headers.get("x-request-id") === null) return "no request id";
  if (method === "HEAD") return undefined;
  if (reply.status !== 200) return isErrorForm(reply) ? undefined : "another error form";
  if (!isOwnRoute) return undefined;
  return checks.get(operationId)?.(reply) === true ? undefined : "a reply that the document does not describe";
}

/** An account may name a server that is not there, and then hears of it. */
function isOfOtherServer({ status, text }: Reply): boolean {
  return status === 503 && text.includes("metastore.example.com");
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

type ReplyChecks = Map<string, (reply: Reply) => boolean>;

function replyChecks(): ReplyChecks {
  return new Map(
    operationsOf(document).map(({ operation }) => {
      const reply = operation.responses["200"];
      if (reply === undefined || isReference(reply)) throw new Error(`${operation.operationId} has no reply`);
      const byType = new Map(
        Object.entries(reply.content ?? {}).map(([type, { schema }]) => [type, Compile(closed(schema))]),
      );
      return [
        operation.operationId,
        ({ headers, body, text }: Reply) => {
          const [type = ""] = (headers.get("content-type") ?? "").split(";");
          return byType.get(type)?.Check(type === "application/json" ? body : text) === true;
        },
      ];
    }),
  );
}

/** References filled in, and objects without keys that the document does not name. */
function closed(schema: JsonSchema): JsonSchema {
  if (isReference(schema)) return closed(document.components.schemas[schema.$ref.split("/").at(-1) ?? ""] ?? {});
  const entries = Object.entries(schema).map(([key, value]): [string, unknown] => {
    if (key === "properties" && isRecord(value)) {
      return [
        key,
        Object.fromEntries(
          Object.entries(value).map(([name, inner]) => [name, isRecord(inner) ? closed(inner) : inner]),
        ),
      ];
    }
    if (isRecord(value)) return [key, closed(value)];
    if (Array.isArray(value)) return [key, value.map((each) => (isRecord(each) ? closed(each) : each))];
    return [key, value];
  });
  const isOpen = schema.type === "object" && isRecord(schema.properties) && !("additionalProperties" in schema);
  return Object.fromEntries(isOpen ? [...entries, ["additionalProperties", false]] : entries);
}

interface Cast {
  tokens: Record<FuzzedRequest["token"], string | undefined>;
  own: Record<string, string>;
}

/** Anew for every chunk: requests reset tokens, disable users and delete what they find. */
async function callers(): Promise<Cast> {
  const account = await given.account();
  const operator = await given.account({ isOperator: true });
  const [admin, nobody] = [await given.member(account, { groups: ["system-admin"] }), await given.member(account)];
  return {
    tokens: { admin: admin.token, operator: operator.token, nobody: nobody.token, garbage: "garbage", none: undefined },
    own: await ownObjects(account, nobody.membershipId),
  };
}

async function ownObjects(account: AccountClient, membershipId: number): Promise<Record<string, string>> {
  const { group } = await account.post("/groups", { name: "mine" });
  const { roles: role } = await account.post("/roles", { name: "mine", policies: "[]" });
  await account.post("/whitelist_ip", { ip_cidr: "10.0.0.1" });
  const [{ id }] = (await account.get("/whitelist_ip")).account_whitelisted_ips;
  const { invitation_code: code } = await account.post("/users/invite_new", {
    invitee_email: `invitee@${account.email}`.replace("@user", "-user"),
  });
  const command = await account.post("/commands", { command_type: "SparkCommand", cmdline: "own.py" });
  await account.post("/clusters", { labels: ["mine"], engine: { type: "local" } });
  const app = await account.post("/apps", { name: "mine" });
  const member = String(membershipId);
  return {
    group_id: String(group.id),
    role_id: String(role.id),
    ids: String(id),
    account_id: String(account.accountId),
    cluster_id: "mine",
    destination_cluster: "mine",
    app_id: String(app.id),
    command_id: String(command.id),
    label: "default",
    code,
    users: member,
    members: member,
    svc_user_id: member,
    roles: "mine",
    groups: "mine",
  };
}

async function send(request: FuzzedRequest, { tokens, own }: Cast): Promise<{ path: string; reply: Reply }> {
  const fill = (name: string, text: string): string => text.replaceAll(OWN, own[name] ?? own.group_id ?? "");
  const token = tokens[request.token];
  const filled = request.template.replaceAll(/\{(\w+)\}/g, (_match, name: string) =>
    encodeURIComponent(fill(name, request.params[name] ?? "")),
  );
  // Nobody waits for a command to end.
  const shortened = request.query.filter(
    ([key, value]) => key !== "follow" && (key !== "wait_seconds" || !/^ *\+?\d\d? *$/.test(value)),
  );
  const query = new URLSearchParams(shortened.map(([key, value]): [string, string] => [key, fill(key, value)]));
  const path = `${filled}${request.suffix}${query.size === 0 || request.suffix === "?" ? "" : `?${query.toString()}`}`;
  const body = request.body?.replaceAll(
    /"(\w+)":"([^"]*@own[^"]*)"/g,
    (_match, key: string, value: string) => `"${key}":"${fill(key, value)}"`,
  );
  const reply = await rawRequest(given.base, {
    method: request.method,
    path,
    headers: { ...request.headers, ...(token === undefined ? {} : { "X-AUTH-TOKEN": token }) },
    agent,
    ...(body === undefined ? {} : { body }),
  });
  // Whoever resets their own token goes on with the new one.
  const [renewed] = reply.body?.tokens ?? [];
  if (request.operationId === "token_reset" && renewed !== undefined)
    tokens[request.token] = renewed.authentication_token;
  return { path, reply };
}

async function inParallel<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const queue = [...items];
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (let item = queue.shift(); item !== undefined; item = queue.shift()) await work(item);
    }),
  );
}
