/**
 * Pages of the server itself, for operators, probes and readers. They need no token and touch no account. Block
 * `/metrics` in the proxy if its numbers must stay private.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Registry } from "prom-client";
import { Fault, noSuchOperation, notFound } from "../lib/fault.ts";
import { lazy } from "../lib/lazy.ts";
import { errorReply } from "./error-body.ts";
import type { OpenApiDocument } from "./openapi/document.ts";
import type { Guide, Guides } from "./guides.ts";
import { contentSecurityPolicy, referencePage } from "./reference-page.ts";

export interface SystemOptions {
  readiness: ReadinessParts;
  registry: Registry;
  /** Called once, on first use. */
  openApi: () => OpenApiDocument;
  /** Ids of endpoints, in the order in which the reference shows them. */
  readingOrder: readonly string[];
  guides: Guides;
}

/** The parts that this process needs to be ready, by name. */
export type ReadinessParts = Readonly<Record<string, () => Promise<PartHealth>>>;

interface PartHealth {
  ok: boolean;
  /** For the operator. Every client that reaches the port can read it. */
  detail: string;
}

/** These are answered without waiting for other requests of the same address. */
const PROBES = new Set(["/healthz", "/readyz"]);

type Answer = (reply: FastifyReply, request: FastifyRequest) => Promise<unknown> | FastifyReply;

export function registerSystemRoutes(
  server: FastifyInstance,
  { readiness, registry, openApi, readingOrder, guides }: SystemOptions,
  identifierPrefix: string,
): void {
  // Encoded once, and shared by all requests: anyone may ask for these large pages.
  const documentText = lazy(() => Buffer.from(JSON.stringify(openApi())));
  const page = lazy(() => referencePage(openApi(), { readingOrder, identifierPrefix, guides }));
  const isServed = (path: string): boolean => Object.hasOwn(answers, path) || findGuide(guides, path) !== undefined;
  // The renderer of Markdown is loaded when a guide is read for the first time.
  const guideText = lazy(async () => (await import("./guide-page.ts")).guidePages(isServed, identifierPrefix));
  const answers: Record<string, Answer> = {
    "/": (reply, request) => welcome(reply, request),
    "/healthz": (reply) => reply.send({ status: "ok" }),
    "/readyz": (reply) => sendReadiness(reply, readiness),
    "/metrics": async (reply) => reply.type(registry.contentType).send(await registry.metrics()),
    "/openapi.json": (reply) => reply.type("application/json; charset=utf-8").send(documentText()),
    "/docs": (reply, request) => sendHtml(reply, page().contentSecurityPolicy, page().htmlFor(serverAddress(request))),
    "/docs/*": async (reply, { url }) => {
      const [path = ""] = url.split("?", 1);
      const guide = findGuide(guides, path);
      if (guide === undefined) throw notFound("Guide", path);
      return sendHtml(reply, contentSecurityPolicy(), (await guideText())(guide));
    },
  };
  for (const [url, answer] of Object.entries(answers)) {
    server.route({
      method: "GET",
      url,
      config: { operation: operationName(url), isProbe: PROBES.has(url) },
      handler: async (request, reply) => answer(reply, request),
    });
  }
}

/** For logs and metrics. */
function operationName(url: string): string {
  return url === "/" ? "welcome" : url.slice(1).replace("/*", "_guide");
}

/** Caches must ask again: a page may contain the address of the request, and changes with the version. */
function sendHtml(reply: FastifyReply, policy: string, text: Buffer): FastifyReply {
  return reply
    .headers({
      "Cache-Control": "no-cache",
      "Content-Security-Policy": policy,
      "X-Content-Type-Options": "nosniff",
      "Referrer-Policy": "no-referrer",
    })
    .type("text/html; charset=utf-8")
    .send(text);
}

function findGuide(guides: Guides, path: string): Guide | undefined {
  return guides.find(path.slice(1));
}

/** Redirects a browser to the reference. A program gets 404, as for any unknown path. */
function welcome(reply: FastifyReply, { headers, method }: FastifyRequest): FastifyReply {
  reply.header("Vary", "Accept");
  if (!acceptsHtml(headers.accept)) throw noSuchOperation(method, "/");
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

const ANSWER_WITHIN_MS = 2_000;

/** Checks whether the parts are available, each within a time limit. */
export async function checkParts(
  parts: ReadinessParts,
  answerWithinMs = ANSWER_WITHIN_MS,
): Promise<Record<string, PartHealth>> {
  const answers = await Promise.all(
    Object.entries(parts).map(async ([name, check]): Promise<[string, PartHealth]> => [
      name,
      await withinTime(check, answerWithinMs),
    ]),
  );
  return Object.fromEntries(answers);
}

async function withinTime(check: () => Promise<PartHealth>, answerWithinMs: number): Promise<PartHealth> {
  const { promise: late, resolve } = Promise.withResolvers<PartHealth>();
  const timer = setTimeout(() => resolve({ ok: false, detail: `no answer in ${answerWithinMs} ms` }), answerWithinMs);
  // The error may name hosts or users; it is in the log of the part itself.
  const answer = check().catch((): PartHealth => ({ ok: false, detail: "not reachable" }));
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Whether a client explicitly accepts HTML, as browsers do; programs send a wildcard, JSON or nothing. */
function acceptsHtml(accept: string | undefined): boolean {
  return (accept ?? "").split(",").some((range) => /^\s*text\/html\s*(;(?!\s*q=0(\.0*)?\s*$)|$)/i.test(range));
}

/** Protocol, host and port, without characters that have a meaning in a shell or in HTML. */
const PLAIN_ADDRESS = /^https?:\/\/([A-Za-z0-9.-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(:\d{1,5})?$/;

/**
 * The address that the client used for this server if it is safe to print, else the local address of the connection.
 * Headers decide about it: `Host`, and those of a trusted proxy.
 */
function serverAddress({ protocol, host, socket }: FastifyRequest): string {
  const address = `${protocol}://${host}`;
  if (PLAIN_ADDRESS.test(address)) return address;
  const { localAddress = "127.0.0.1", localPort = 80 } = socket;
  return `http://${localAddress.includes(":") ? `[${localAddress}]` : localAddress}:${localPort}`;
}
