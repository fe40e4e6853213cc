import type { RawRequest } from "../support/raw-request.ts";
import type { OperationRules } from "./operation-input.ts";
import type { FuzzedRequest, SentField, Target } from "./request-arbitrary.ts";
import type { World } from "./world.ts";

export interface Route {
  method: string;
  /** The path, with `{name}` for each parameter. */
  template: string;
}

export interface Scene {
  world: World;
  foreign: World;
  /** Only for routes of operators. */
  operatorToken: string | undefined;
}

export interface PlannedRequest {
  request: RawRequest;
  /** The value of the path parameter that the defect is in; undefined if the path has no parameters. */
  target: string | undefined;
  /** Texts that must not be in a reply. */
  secrets: string[];
}

const OVER_1_MB = 1024 * 1024 + 1;

/** Also creates the objects that the request names, so that after this only the request itself can change anything. */
export async function planRequest(
  request: FuzzedRequest,
  rules: OperationRules,
  { method, template }: Route,
  { world, foreign, operatorToken }: Scene,
): Promise<PlannedRequest> {
  const token = request.caller === "admin" ? (operatorToken ?? world.account.token) : await world.token(request.caller);
  const { path: filledTemplate, target } = await filledPath(template, request, world, foreign);
  const path = `${filledTemplate}${await queryText(request, world)}`;
  const body = method === "GET" ? undefined : await filled(bodyText(request, rules), world);
  return {
    request: {
      method: request.route === "wrong method" ? "PATCH" : method,
      path,
      headers: { "Content-Type": request.contentType, ...(token === undefined ? {} : { "X-AUTH-TOKEN": token }) },
      ...(body === undefined ? {} : { body }),
    },
    target,
    secrets: [...(token === undefined ? [] : [token]), ...secretsOf([...request.query, ...request.body])],
  };
}

export function parametersOf({ template }: Pick<Route, "template">): string[] {
  return [...template.matchAll(/\{(\w+)\}/g)].map(([, name]) => name ?? "");
}

async function filledPath(
  template: string,
  request: FuzzedRequest,
  world: World,
  foreign: World,
): Promise<Pick<PlannedRequest, "target"> & { path: string }> {
  const names = parametersOf({ template });
  const chosen = names[request.targetAt % Math.max(names.length, 1)];
  let path = template;
  let target: string | undefined;
  for (const name of names) {
    const value = await targetValue(name === chosen ? request.target : "own", name, world, foreign);
    path = path.replace(`{${name}}`, encodeURIComponent(value));
    if (name === chosen) target = value;
  }
  return { path: `${path}${request.route === "unknown path" ? "/no/such/path" : ""}${request.suffix}`, target };
}

async function targetValue(target: Target, name: string, world: World, foreign: World): Promise<string> {
  switch (target) {
    case "own":
      return world.object(name);
    case "foreign":
      return foreign.object(name);
    case "unknown":
      return "987654321";
    case "word":
      return "no-such-thing";
    case "too large":
      return "99999999999999999999";
  }
}

async function queryText({ query, suffix }: FuzzedRequest, world: World): Promise<string> {
  const search = new URLSearchParams();
  for (const { name, value } of query) {
    if (value === undefined || value === null) continue;
    const own = typeof value === "string" ? /^@own:(\w+)$/.exec(value)?.[1] : undefined;
    search.set(name, own === undefined ? queryValue(value) : await world.object(own));
  }
  if (search.size === 0) return "";
  return `${suffix === "?" ? "" : "?"}${search.toString()}`;
}

function queryValue(value: unknown): string {
  // An unpaired surrogate cannot be percent-encoded.
  return (typeof value === "string" ? value : JSON.stringify(value)).toWellFormed().slice(0, 1000);
}

function bodyText(request: FuzzedRequest, { fixed = {}, inside, body }: OperationRules): string {
  switch (request.payload) {
    case "broken JSON":
      return '{"name": "x",';
    case "no object":
      return '["x"]';
    case "too large":
      return `{"name":"${"x".repeat(OVER_1_MB)}"}`;
    case "right": {
      const extra = request.unknownKey ? { no_such_key: [{}] } : {};
      if (body === undefined) return JSON.stringify(extra);
      const entries = request.body
        .filter(({ state }) => state !== "absent" && state !== "missing")
        .map(({ name, value }): [string, unknown] => [name, value]);
      const fields = { ...fixed, ...Object.fromEntries(entries), ...extra };
      return JSON.stringify(inside === undefined ? fields : { [inside]: fields });
    }
  }
}

/** Replaces each `@own:name` by the id of an object of the caller. */
async function filled(text: string, world: World): Promise<string> {
  const names = new Set([...text.matchAll(/"@own:(\w+)"/g)].map(([, name]) => name ?? ""));
  let result = text;
  for (const name of names) result = result.replaceAll(`"@own:${name}"`, JSON.stringify(await world.object(name)));
  return result;
}

function secretsOf(fields: readonly SentField[]): string[] {
  return fields
    .filter(({ isSecret }) => isSecret)
    .flatMap(({ value }) => JSON.stringify(value ?? "").match(/S3cr3t[0-9a-f]{24}/)?.[0] ?? []);
}
