/**
 * All URLs of the API, computed from the endpoints: each version's own paths and aliases; every v1.2 path under v2 as
 * well (`account` also as `accounts`); and `/api/latest/…`, the newest version that has the path.
 */
import { spellingsOf } from "./canonical-form.ts";
import type { Endpoint, Method, Version, ApiPath } from "./endpoint.ts";

export interface Route<E> {
  method: Method;
  url: string;
  version: Version;
  endpoint: E;
}

type Routable = Pick<Endpoint<never, never, never>, "id" | "method" | "paths" | "aliases">;

const NEWEST_FIRST: readonly Version[] = ["v2", "v1.2", "v1"];

export function routeTable<E extends Routable>(endpoints: readonly E[]): Route<E>[] {
  const routes = new Map<string, Route<E>>();
  const add = (
    method: Method,
    version: Version,
    prefix: string,
    path: string,
    endpoint: E,
    explicit: boolean,
  ): void => {
    const url = `/api/${prefix}${path}`;
    const key = `${method} ${url.replaceAll(/:\w+/g, ":")}`;
    const there = routes.get(key);
    if (there === undefined) routes.set(key, { method, url, version, endpoint });
    else if (explicit && there.endpoint !== endpoint) {
      throw new Error(`${endpoint.id} and ${there.endpoint.id} both answer ${method} ${url}`);
    }
  };

  for (const version of NEWEST_FIRST) {
    for (const endpoint of endpoints) {
      for (const path of ownPaths(endpoint, version)) add(endpoint.method, version, version, path, endpoint, true);
    }
  }
  for (const endpoint of endpoints) {
    for (const path of ownPaths(endpoint, "v1.2").flatMap(alsoPlural)) {
      add(endpoint.method, "v2", "v2", path, endpoint, false);
    }
  }
  for (const version of NEWEST_FIRST) {
    for (const route of [...routes.values()].filter((each) => each.version === version)) {
      const path = route.url.slice(`/api/${version}`.length);
      add(route.method, version, "latest", path, route.endpoint, false);
    }
  }
  return [...routes.values()];
}

/** The beginnings of all paths whose rest a path parameter takes unchanged (`restOfPath`). */
export function restPrefixes(endpoints: readonly (Routable & { readonly restOfPath?: true })[]): string[] {
  const urls = routeTable(endpoints.filter((endpoint) => endpoint.restOfPath === true)).map(({ url }) => url);
  return [...new Set(urls.flatMap((url) => spellingsOf(url.slice(0, url.lastIndexOf(":")))))];
}

function ownPaths(endpoint: Routable, version: Version): string[] {
  const path = endpoint.paths[version];
  return [...(path === undefined ? [] : [path]), ...(endpoint.aliases?.[version] ?? [])];
}

function alsoPlural(path: string): string[] {
  return path === "/account" || path.startsWith("/account/") ? [path, path.replace("/account", "/accounts")] : [path];
}

/** 2026-01-01T00:00:00Z. Fixed, so that clients and caches always see the same date. */
const DEPRECATED_SINCE = 1_767_225_600;

/** §9.3: marks an endpoint that a newer version replaces, and links to its successor. */
export function deprecationHeaders(
  endpoint: Pick<Endpoint<never, never, never>, "supersededBy" | "paths">,
  version: Version,
): Record<string, string> {
  const successor = endpoint.supersededBy?.[version];
  if (successor === undefined) return {};
  const path = isPath(successor) ? successor : `/api/${successor}${endpoint.paths[successor] ?? ""}`;
  return {
    Deprecation: `@${DEPRECATED_SINCE}`,
    Link: `<${path.replaceAll(/:(\w+)/g, "{$1}")}>; rel="successor-version"`,
  };
}

function isPath(successor: Version | ApiPath): successor is ApiPath {
  return successor.startsWith("/");
}
