import type { FastifyInstance, FastifyReply } from "fastify";
import type { Registry } from "prom-client";
import { Fault } from "../lib/fault.ts";
import { lazy } from "../lib/lazy.ts";
import { errorReply } from "./error-body.ts";
import type { OpenApiDocument } from "./openapi/document.ts";
import { askParts, type ReadinessParts } from "./readiness.ts";
import { referencePage } from "./reference-page.ts";

/**
 * What an operator, a probe or a reader asks the server itself. None of it needs a token or touches an account; keep
 * `/metrics` from the outside in the proxy if its numbers are nobody else's business.
 */
export interface SystemOptions {
  readiness: ReadinessParts;
  registry: Registry;
  /** Asked for once, when somebody first reads it. */
  openApi: () => OpenApiDocument;
}

type Answer = (reply: FastifyReply) => Promise<unknown> | FastifyReply;

export function registerSystemRoutes(server: FastifyInstance, { readiness, registry, openApi }: SystemOptions): void {
  const documentText = lazy(() => JSON.stringify(openApi()));
  const page = lazy(() => referencePage(openApi()));
  const answers: Record<string, Answer> = {
    "/healthz": (reply) => reply.send({ status: "ok" }),
    "/readyz": (reply) => sendReadiness(reply, readiness),
    "/metrics": async (reply) => reply.type(registry.contentType).send(await registry.metrics()),
    "/openapi.json": (reply) => reply.type("application/json; charset=utf-8").send(documentText()),
    "/docs": (reply) =>
      reply
        .headers({
          "Content-Security-Policy": page().contentSecurityPolicy,
          "X-Content-Type-Options": "nosniff",
          "Referrer-Policy": "no-referrer",
        })
        .type("text/html; charset=utf-8")
        .send(page().html),
  };
  for (const [url, answer] of Object.entries(answers)) {
    server.route({
      method: "GET",
      url,
      config: { operation: url.slice(1) },
      handler: async (_request, reply) => answer(reply),
    });
  }
}

async function sendReadiness(reply: FastifyReply, readiness: ReadinessParts): Promise<FastifyReply> {
  const parts = await askParts(readiness);
  const missing = Object.entries(parts).flatMap(([name, { ok }]) => (ok ? [] : [name]));
  if (missing.length === 0) return reply.send({ status: "ok", parts });
  // The one error form, and beside it what each part says.
  const { status, body } = errorReply(new Fault("unavailable", `Not ready: ${missing.join(", ")}.`));
  return reply.code(status).send({ ...body, status: "unavailable", parts });
}
