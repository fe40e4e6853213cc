import { isRecord } from "../lib/is-record.ts";

/**
 * Normalises a URL before routing: removes a trailing slash, a bare `?` and the suffix `.json`, replaces v1.3 with v2,
 * whose other name it is, and replaces the deployment's identifier prefix with the `svc` that all definitions use. What
 * follows one of `restPrefixes` is not for the router, which gets a placeholder instead; `restOfPath` returns it.
 */
export function canonicalUrl(url: string, prefix: string, restPrefixes: readonly string[] = []): string {
  const queryAt = url.indexOf("?");
  let path = queryAt === -1 ? url : url.slice(0, queryAt);
  const query = queryAt === -1 || queryAt === url.length - 1 ? "" : url.slice(queryAt);
  const rest = restOfPath(path, restPrefixes);
  if (rest !== undefined) path = `${path.slice(0, -rest.length)}-`;
  path = stripTrailing(path);
  if (path.startsWith("/api/")) {
    if (path.endsWith(".json")) path = stripTrailing(path.slice(0, -".json".length));
    if (path.startsWith(OTHER_NAME_OF_V2)) path = `${V2}${path.slice(OTHER_NAME_OF_V2.length)}`;
    if (prefix !== "svc" && path.includes("_user")) path = withNeutralSegments(path, prefix);
  }
  return path + query;
}

/** The rest of the URL's path after one of the prefixes, unchanged. Undefined: it has none, or nothing follows. */
export function restOfPath(url: string, restPrefixes: readonly string[]): string | undefined {
  const prefix = restPrefixes.find((each) => url.startsWith(each));
  if (prefix === undefined) return undefined;
  const [rest = ""] = url.slice(prefix.length).split("?", 1);
  return rest === "" ? undefined : rest;
}

/** The names that a path of v2 has before the router. */
export function spellingsOf(path: string): string[] {
  const isV2 = path.startsWith(V2);
  return isV2 ? [path, `${OTHER_NAME_OF_V2}${path.slice(V2.length)}`] : [path];
}

function stripTrailing(path: string): string {
  let end = path.length;
  while (end > 1 && path.charCodeAt(end - 1) === SLASH) end -= 1;
  return end === path.length ? path : path.slice(0, end);
}

/** In a deployment with another prefix, paths with `svc` must not match: they become a path that does not exist. */
function withNeutralSegments(path: string, prefix: string): string {
  const spellings = new Map<string, string>();
  for (const form of SEGMENTS) spellings.set(form("svc"), "-").set(form(prefix), form("svc"));
  return path
    .split("/")
    .map((segment) => spellings.get(segment) ?? segment)
    .join("/");
}

const SLASH = 0x2f;
const V2 = "/api/v2/";
const OTHER_NAME_OF_V2 = "/api/v1.3/";
const SEGMENTS = [
  (prefix: string) => `enable_${prefix}_user`,
  (prefix: string) => `disable_${prefix}_user`,
  (prefix: string) => `${prefix}_users`,
];

/**
 * The vendor abbreviation of §1 is a deployment setting; definitions always use `svc`. This rewrites keys, and the same
 * words inside policy strings, between the wire and the definitions. With the default prefix it does nothing.
 */
interface PrefixRewrite {
  incoming(value: unknown): unknown;
  outgoing(value: unknown): unknown;
}

const KEYS = ["user_id", "users", "groups", "session_id"];
const POLICY_WORDS = ["users", "groups", "user"];
const POLICY_KEYS = new Set(["policy", "policies"]);
const MESSAGE_KEY = "error_message";
const SCHEMA_KEY = "qlog";
/** An `.ipynb` file belongs to the user: the export must show it as it was imported. */
const UNCHANGED_KEYS = new Set(["notebook"]);

export function prefixRewrite(prefix: string): PrefixRewrite {
  if (prefix === "svc") return { incoming: (value) => value, outgoing: (value) => value };
  const incoming = rewriter(prefix, "svc");
  const neutralKeys = new Set(KEYS.map((key) => `svc_${key}`));
  return {
    incoming: (body) => incoming(isRecord(body) ? withoutKeys(body, neutralKeys) : body),
    outgoing: rewriter("svc", prefix),
  };
}

/**
 * With another prefix, fields such as `svc_user_id` are unknown, like the paths with `svc`. Only top-level fields are
 * removed, because objects inside may have keys that the client chose.
 */
function withoutKeys(body: Record<string, unknown>, keys: ReadonlySet<string>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(body).filter(([key]) => !keys.has(key)));
}

function rewriter(from: string, to: string): (value: unknown) => unknown {
  const keys = new Map(KEYS.map((key) => [`${from}_${key}`, `${to}_${key}`]));
  const messageWord = new RegExp(`\\b${from}_(${[...KEYS, "user"].join("|")})\\b`, "g");
  // Not in a path, which the message about an unknown path shows as the client sent it.
  const inMessage = (text: string): string => {
    const slashAt = text.indexOf("/");
    const end = slashAt === -1 ? text.length : slashAt;
    return text.slice(0, end).replaceAll(messageWord, `${to}_$1`) + text.slice(end);
  };
  const schemaWord = `{"${from.toUpperCase()}-QUERY-SCHEMA":`;
  // Both prefixes are swapped: words with the wrong one become unknown, and swapping back restores the text as sent.
  const policyWord = new RegExp(`"(${from}|${to})_(${POLICY_WORDS.join("|")})"`, "g");
  const swapped = (_: string, prefix: string, word: string): string => `"${prefix === from ? to : from}_${word}"`;
  const rewrite = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(rewrite);
    if (!isRecord(value) || value instanceof Date) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, inner]) => [
        keys.get(key) ?? key,
        UNCHANGED_KEYS.has(key) ? inner : (rewriteText(key, inner) ?? rewrite(inner)),
      ]),
    );
  };
  /** Policies and the schemas of queries are sent as text, and our error messages name fields as the client spells them. */
  const rewriteText = (key: string, value: unknown): unknown => {
    // A policy may also be an array, whose values are rewritten like those of its text.
    if (POLICY_KEYS.has(key) && Array.isArray(value)) {
      return JSON.parse(JSON.stringify(value).replaceAll(policyWord, swapped));
    }
    if (typeof value !== "string") return undefined;
    if (POLICY_KEYS.has(key)) return value.replaceAll(policyWord, swapped);
    if (key === SCHEMA_KEY && value.startsWith(schemaWord)) {
      return `{"${to.toUpperCase()}-QUERY-SCHEMA":${value.slice(schemaWord.length)}`;
    }
    return key === MESSAGE_KEY && from === "svc" ? value.replaceAll(/\S+/g, inMessage) : undefined;
  };
  return rewrite;
}
