import type { Endpoint, Version } from "../endpoint.ts";
import { routeTable } from "../route-table.ts";

/** One entry of the document: an endpoint at the path a version of the interface gives it. */
export interface DocumentedPath<E> {
  endpoint: E;
  version: Version;
  /** As OpenAPI writes it: `/api/v1.2/groups/{group_id}`. */
  template: string;
  operationId: string;
  /** Where else it answers; `/api/latest/…` is told once, in the introduction. */
  alsoAt: string[];
  /** The endpoint's name of each path parameter → the template's. */
  parameterNames: Map<string, string>;
}

const OLDEST_FIRST: readonly Version[] = ["v1", "v1.2", "v2"];

/**
 * The canonical path of each version. An operation is called by its endpoint's id; where versions differ in path, the
 * older ones carry their version behind it.
 */
export function documentedPaths<E extends Endpoint<unknown, never, never>>(
  endpoints: readonly E[],
): DocumentedPath<E>[] {
  const routes = routeTable(endpoints);
  const templates = new Map<string, string>();
  return endpoints.flatMap((endpoint) => {
    const versions = OLDEST_FIRST.filter((version) => endpoint.paths[version] !== undefined);
    const urls = versions.map((version) => `/api/${version}${endpoint.paths[version] ?? ""}`);
    const others = routes.filter((route) => route.endpoint === endpoint && !route.url.startsWith("/api/latest/"));
    return versions.map((version, index) => {
      const url = urls[index] ?? "";
      const template = templateOf(url, templates);
      const isNewest = index === versions.length - 1;
      return {
        endpoint,
        version,
        template,
        operationId: isNewest ? endpoint.id : `${endpoint.id}_${version.replaceAll(".", "_")}`,
        alsoAt: isNewest
          ? others.map((route) => braced(route.url)).filter((each) => !urls.map(braced).includes(each))
          : [],
        parameterNames: parameterNames(url, template),
      };
    });
  });
}

/** Two paths that differ only in the name of a parameter are one path to OpenAPI: the first spelling stands. */
function templateOf(url: string, templates: Map<string, string>): string {
  const shape = url.replaceAll(/:\w+/g, ":");
  const template = templates.get(shape) ?? braced(url);
  templates.set(shape, template);
  return template;
}

function braced(url: string): string {
  return url.replaceAll(/:(\w+)/g, "{$1}");
}

function parameterNames(url: string, template: string): Map<string, string> {
  const ours = [...url.matchAll(/:(\w+)/g)].map(([, name = ""]) => name);
  const theirs = [...template.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => name);
  return new Map(ours.map((name, index) => [name, theirs[index] ?? name]));
}
