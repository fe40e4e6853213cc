import { METHODS } from "node:http";
import type { FastifyInstance } from "fastify";
import { Fault } from "../lib/fault.ts";

/** CONNECT and upgrades never reach a router. */
const REFUSABLE = METHODS.filter((method) => method !== "CONNECT");

/** The router knows all methods of HTTP, so that a wrong one is 405 wherever the path exists. */
export function knowAllMethods(server: FastifyInstance): void {
  const known = new Set(server.supportedMethods);
  for (const method of REFUSABLE) if (!known.has(method)) server.addHttpMethod(method, { hasBody: false });
}

/** 405 with `Allow`, before anything is asked of the caller. Whoever answers GET answers HEAD. */
export function refuseOtherMethods(server: FastifyInstance, url: string, methods: readonly string[]): void {
  const allow = methods.includes("GET") ? [...methods, "HEAD"] : [...methods];
  server.route({
    method: REFUSABLE.filter((method) => !allow.includes(method)),
    url,
    exposeHeadRoute: false,
    onRequest: (request, _reply, done) => {
      done(new Fault("method-not-allowed", `${request.method} is not possible here.`, { allow }));
    },
    handler: () => undefined,
  });
}
