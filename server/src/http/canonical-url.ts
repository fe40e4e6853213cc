/**
 * Normalises a URL before routing: removes a trailing slash, a bare `?` and the suffix `.json`, and replaces the
 * deployment's identifier prefix with the `svc` that all definitions use.
 */
export function canonicalUrl(url: string, prefix: string): string {
  const queryAt = url.indexOf("?");
  let path = queryAt === -1 ? url : url.slice(0, queryAt);
  const query = queryAt === -1 || queryAt === url.length - 1 ? "" : url.slice(queryAt);
  path = stripTrailing(path);
  if (path.startsWith("/api/")) {
    if (path.endsWith(".json")) path = stripTrailing(path.slice(0, -".json".length));
    if (prefix !== "svc" && path.includes("_user")) path = withNeutralSegments(path, prefix);
  }
  return path + query;
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
const SEGMENTS = [
  (prefix: string) => `enable_${prefix}_user`,
  (prefix: string) => `disable_${prefix}_user`,
  (prefix: string) => `${prefix}_users`,
];
