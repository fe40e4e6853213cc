import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Registry } from "prom-client";
import { Fault, notFound } from "../lib/fault.ts";
import { lazy } from "../lib/lazy.ts";
import { acceptsHtml } from "./accepts-html.ts";
import { errorReply } from "./error-body.ts";
import type { OpenApiDocument } from "./openapi/document.ts";
import { checkParts, type ReadinessParts } from "./readiness.ts";
import { referencePage } from "./reference-page.ts";
import { serverAddress } from "./server-address.ts";

/**
 * Pages of the server itself, for operators, probes and readers. They need no token and touch no account. Block
 * `/metrics` in the proxy if its numbers must stay private.
 */
export interface SystemOptions {
  readiness: ReadinessParts;
  registry: Registry;
  /** Called once, on first use. */
  openApi: () => OpenApiDocument;
  /** Ids of endpoints, in the order in which the reference shows them. */
  readingOrder: readonly string[];
}

/** These are answered without waiting for other requests of the same address. */
const PROBES = new Set(["/healthz", "/readyz"]);

type Answer = (reply: FastifyReply, request: FastifyRequest) => Promise<unknown> | FastifyReply;

export function registerSystemRoutes(
  server: FastifyInstance,
  { readiness, registry, openApi, readingOrder }: SystemOptions,
  identifierPrefix: string,
): void {
  const documentText = lazy(() => JSON.stringify(openApi()));
  const page = lazy(() => referencePage(openApi(), { readingOrder, identifierPrefix }));
  const answers: Record<string, Answer> = {
    "/": (reply, request) => welcome(reply, request),
    "/healthz": (reply) => reply.send({ status: "ok" }),
    "/readyz": (reply) => sendReadiness(reply, readiness),
    "/metrics": async (reply) => reply.type(registry.contentType).send(await registry.metrics()),
    "/openapi.json": (reply) => reply.type("application/json; charset=utf-8").send(documentText()),
    "/docs": (reply, request) =>
      reply
        .headers({
          "Content-Security-Policy": page().contentSecurityPolicy,
          "X-Content-Type-Options": "nosniff",
          "Referrer-Policy": "no-referrer",
        })
        .type("text/html; charset=utf-8")
        .send(page().htmlFor(serverAddress(request))),
  };
  for (const [url, answer] of Object.entries(answers)) {
    server.route({
      method: "GET",
      url,
      config: { operation: url.slice(1) || "welcome", isProbe: PROBES.has(url) },
      handler: async (request, reply) => answer(reply, request),
    });
  }
}

/** Redirects a browser to the reference. A program gets 404, as for any unknown path. */
function welcome(reply: FastifyReply, { headers }: FastifyRequest): FastifyReply {
  reply.header("Vary", "Accept");
  if (!acceptsHtml(headers.accept)) throw notFound();
  return reply.redirect("/docs", 302);
}

async function sendReadiness(reply: FastifyReply, readiness: ReadinessParts): Promise<FastifyReply> {
  const parts = await checkParts(readiness);
  const missing = Object.entries(parts).flatMap(([name, { ok }]) => (ok ? [] : [name]));
  if (missing.length === 0) return reply.send({ status: "ok", parts });
  // The usual error format, with the state of each part added.
  const { status, body } = errorReply(new Fault("unavailable", `Not ready: ${missing.join(", ")}.`));
  return reply.code(status).send({ ...body, status: "unavailable", parts });
}
