import type { Endpoint, Version } from "../endpoint.ts";
import { routeTable } from "../route-table.ts";

/** One entry of the document: an endpoint at its path in one version of the API. */
export interface DocumentedPath<E> {
  endpoint: E;
  version: Version;
  /** In OpenAPI's notation: `/api/v1.2/groups/{group_id}`. */
  template: string;
  operationId: string;
  /** Further paths. `/api/latest/…` is left out, because the introduction describes it. */
  alsoAt: string[];
  /** Maps the endpoint's names of path parameters to those of the template. */
  parameterNames: Map<string, string>;
}

const OLDEST_FIRST: readonly Version[] = ["v1", "v1.2", "v2"];

/**
 * The canonical path of each version. The operation id is the endpoint's id; older versions append their version to it.
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

/** OpenAPI treats paths that differ only in parameter names as the same path, so the first spelling is used. */
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
