import type { ApiPath, Endpoint, Version } from "./endpoint.ts";

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
