import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import findMyWay from "find-my-way";
import { Fault, noSuchOperation } from "../lib/fault.ts";
import { lazy } from "../lib/lazy.ts";
import { BYTES_TYPE, isReceivingBytes, receiveBytes } from "./byte-body.ts";
import { canonicalUrl, prefixRewrite } from "./canonical-form.ts";
import { COMMON_HEADERS, incompleteRequest, errorReply, toFault, refuseBrokenRequest } from "./error-body.ts";
import { takeExpectations } from "./expect-continue.ts";
import type { EarlySearch } from "./object-search.ts";
import { registerRoutes, type HttpOptions } from "./register-routes.ts";
import { limitConnections } from "./limit-connections.ts";
import { sendRefusal } from "./discard-body.ts";
import { BodyBudget, receiveBodies } from "./receive-bodies.ts";
import { RequestSlots } from "./request-slots.ts";
import type { BodyTerms } from "./gate.ts";
import { observeRequests } from "./observe-requests.ts";
import { startByTurns } from "./start-by-turns.ts";
import { restPrefixes } from "./route-table.ts";
import { registerSystemRoutes } from "./system-routes.ts";
import { sanitiseProxyHeaders, trustedHops } from "./trusted-proxies.ts";

const REQUEST_TIMEOUT_MS = 60_000;
/** From the connection, or the first byte of a later request, to the last byte of its headers. */
const HEADERS_TIMEOUT_MS = 30_000;
const TIMEOUT_CHECK_MS = 2_000;
const PARAMETER_LIMIT = 4096;
const CLIENT_REQUEST_ID = /^[\w.-]{1,64}$/;

/**
 * The HTTP server of all operations. It turns bytes into typed requests and faults into the common error format. The
 * endpoint data describe the operations, and the gate decides who may call them.
 */
export async function buildServer<Access, Admission, Admitted, Services>(
  options: HttpOptions<Access, Admission, Admitted, Services>,
): Promise<FastifyInstance> {
  const { identifierPrefix, log, metrics } = options;
  const prefix = prefixRewrite(identifierPrefix);
  const traceHeader = `X-${identifierPrefix.charAt(0).toUpperCase()}${identifierPrefix.slice(1)}-Trace-Id`;

  const literalPaths = restPrefixes(options.endpoints);
  const requestSlots = new RequestSlots(options.connections);
  const server = Fastify({
    requestTimeout: REQUEST_TIMEOUT_MS,
    forceCloseConnections: "idle",
    // Requests on open connections are still answered during a drain; Fastify's own refusal has another format.
    return503OnClosing: false,
    http: {
      requireHostHeader: false, // checked below: Node's own refusal has no body
      headersTimeout: HEADERS_TIMEOUT_MS,
      connectionsCheckingInterval: TIMEOUT_CHECK_MS,
    },
    trustProxy: trustedHops(options.proxies.networks),
    routerOptions: { maxParamLength: PARAMETER_LIMIT },
    rewriteUrl: (request) => canonicalUrl(request.url ?? "/", identifierPrefix, literalPaths),
    genReqId: (request) => {
      const given = request.headers["x-request-id"];
      return typeof given === "string" && CLIENT_REQUEST_ID.test(given) ? given : randomUUID();
    },
    frameworkErrors: (error, request, reply) => {
      void sendFault(toFault(error), request, reply);
    },
    clientErrorHandler: (error, socket) => {
      if (!isTimedElsewhere(error, socket)) refuseBrokenRequest(error, socket, traceHeader);
    },
  });

  function sendFault(fault: Fault, request: FastifyRequest, reply: FastifyReply): FastifyReply {
    if (fault.code === "internal") log.error({ requestId: request.id, err: fault.cause }, "request failed");
    if (fault.code === "unavailable" && fault.cause !== undefined) {
      log.warn({ requestId: request.id, err: fault.cause }, "request refused");
    }
    const { status, headers, body } = errorReply(fault);
    // A hook does not see the text if it is sent as a stream.
    const text = JSON.stringify(isApi(request) ? prefix.outgoing(body) : body);
    reply
      .code(status)
      // Set again, because a request can be refused before it reaches the hook below.
      .headers({ ...COMMON_HEADERS, "X-Request-Id": request.id, [traceHeader]: request.id, ...headers })
      .type("application/json; charset=utf-8")
      .serializer(String);
    return sendRefusal(text, request, reply, requestSlots);
  }

  server.setErrorHandler((error, request, reply) =>
    sendFault(request.raw.errored === error ? incompleteRequest(error) : toFault(error), request, reply),
  );
  server.setNotFoundHandler((request, reply) => sendFault(unknownPath(request), request, reply));
  server.removeAllContentTypeParsers();
  receiveBodies(server, new BodyBudget(options.bodyLimits), (value) => prefix.incoming(value));
  receiveBytes(server);
  // §4.6, §4.14: a JSON body on GET is read.
  server.addHttpMethod("GET", { hasBody: true, overrideExisting: true });
  const connections = limitConnections(server.server, options.connections);
  const turns = startByTurns(server, connections);
  const otherMethod = otherMethodRefusal(server, PARAMETER_LIMIT);
  server.decorateRequest("admission", null);
  server.decorateRequest("earlySearch");
  server.addHook("onRequest", (request, reply, done) => {
    // The operation decides how the body is read, not its Content-Type.
    const { takesBytes = false } = request.routeOptions.config;
    request.raw.headers["content-type"] = takesBytes ? BYTES_TYPE : "application/json";
    reply.headers({ ...COMMON_HEADERS, "X-Request-Id": request.id, [traceHeader]: request.id });
    // An unknown path is 404 regardless of its body.
    if (request.is404) done(otherMethod(request.method, request.url) ?? unknownPath(request));
    else done(lacksHost(request.raw) ? new Fault("malformed", "The header Host is missing.") : undefined);
  });
  if (identifierPrefix !== "svc") {
    server.addHook("onSend", (request, reply, payload, done) => {
      const isJson = String(reply.getHeader("content-type")).startsWith("application/json");
      const rewritten = isApi(request) && isJson && typeof payload === "string" && payload !== "";
      done(null, rewritten ? JSON.stringify(prefix.outgoing(JSON.parse(payload))) : payload);
    });
  }
  takeExpectations(server.server);
  observeRequests(server, log, metrics);
  registerSystemRoutes(server, options.system, identifierPrefix);
  registerRoutes(server, options, { turns, connections, requestSlots, literalPaths });
  await server.ready();
  sanitiseProxyHeaders(server.server, options.proxies);
  return server;
}

/** The limit for the time of a whole request does not apply to bodies that are bytes. */
function isTimedElsewhere(error: Error, socket: Socket): boolean {
  return toFault(error).code === "request-timeout" && isReceivingBytes(socket);
}

function unknownPath({ method, originalUrl }: FastifyRequest): Fault {
  return noSuchOperation(method, originalUrl);
}

function isApi({ url }: FastifyRequest): boolean {
  return url.startsWith("/api/");
}

/** HTTP/1.1 requires it in every request. */
function lacksHost({ httpVersion, headers }: IncomingMessage): boolean {
  return httpVersion === "1.1" && headers.host === undefined;
}

/**
 * Returns 405 with `Allow` if the path exists with other methods; checked before authentication. Includes routes that
 * are added later. Routes for GET also serve HEAD.
 */
function otherMethodRefusal(
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

declare module "fastify" {
  interface FastifyRequest {
    /** The gate's result for the caller; null on routes without a gate. */
    admission: unknown;
    /** Set if the object was searched before the body is read. */
    earlySearch: EarlySearch | undefined;
    bodyTerms: BodyTerms | undefined;
    rawReply: ServerResponse | undefined;
    bodySha256: (() => Buffer) | undefined;
    /** The raw body, for small bodies only. */
    rawBody: Buffer | undefined;
  }
  interface FastifyContextConfig {
    operation?: string;
    /** A health probe: answered without waiting for other requests. */
    isProbe?: boolean;
    /** The body is not JSON. */
    takesBytes?: boolean;
    caller?: (admission: unknown) => Record<string, number | string>;
  }
}
