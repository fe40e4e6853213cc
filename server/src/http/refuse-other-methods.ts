import type { FastifyInstance } from "fastify";
import findMyWay from "find-my-way";
import { Fault } from "../lib/fault.ts";
import { lazy } from "../lib/lazy.ts";

/**
 * Returns 405 with `Allow` if the path exists with other methods; checked before authentication. Includes routes that
 * are added later. Routes for GET also serve HEAD.
 */
export function otherMethodRefusal(
  server: FastifyInstance,
  maxParamLength: number,
): (method: string, path: string) => Fault | undefined {
  const byShape = new Map<string, { url: string; allow: string[] }>();
  server.addHook("onRoute", ({ url, method }) => {
    const shape = url.replaceAll(/:\w+/g, ":");
    const entry = byShape.get(shape) ?? { url, allow: [] };
    entry.allow.push(...[method].flat());
    byShape.set(shape, entry);
  });
  const paths = lazy(() => {
    const router = findMyWay({ maxParamLength });
    for (const { url, allow } of byShape.values()) router.on("GET", url, () => undefined, allow);
    return router;
  });
  return (method, path) => {
    const allow: unknown = paths().find("GET", path)?.store;
    return Array.isArray(allow)
      ? new Fault("method-not-allowed", `${method} is not allowed on this path.`, { allow: allow.map(String) })
      : undefined;
  };
}
