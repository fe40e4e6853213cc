import { createHash } from "node:crypto";
import type { Socket } from "node:net";
import type { Readable } from "node:stream";
import type { FastifyContextConfig, FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from "fastify";
import type { TObject } from "typebox";
import { Fault, noSuchOperation } from "../lib/fault.ts";
import { isRecord } from "../lib/is-record.ts";
import { lazy } from "../lib/lazy.ts";
import type { Log } from "../lib/log.ts";
import { incomingBytes } from "./byte-body.ts";
import { restOfPath } from "./canonical-form.ts";
import { deprecationHeaders, routeTable, type Route } from "./route-table.ts";
import type { Endpoint, RequestInput, RequestContext } from "./endpoint.ts";
import { incompleteRequest } from "./error-body.ts";
import { formCodecOf } from "./form-codec.ts";
import { ForwardedReply, forwardRequest, isForwarded, sendForwarded, type ProveNode } from "./forwarded-reply.ts";
import { objectSearch, type EarlySearch } from "./object-search.ts";
import type { Arrival, Gate } from "./gate.ts";
import { HandlerSlots } from "./handler-slots.ts";
import type { Connections } from "./limit-connections.ts";
import type { RequestSlots } from "./request-slots.ts";
import type { Turns } from "./start-by-turns.ts";
import { StreamReply, streamOf } from "./stream-reply.ts";
import { checkOneToken, tokenOf } from "./token-header.ts";
import { whenFinished } from "./when-finished.ts";
import type { BodyLimits } from "./receive-bodies.ts";
import type { HttpMetrics } from "./observe-requests.ts";
import type { SystemOptions } from "./system-routes.ts";
import type { ProxyTrust } from "./trusted-proxies.ts";

/** The dependencies of the HTTP server, passed in by `compose/`. */
export interface HttpOptions<Access, Admission, Admitted, Services> {
  endpoints: readonly Endpoint<Access, Admitted, Services>[];
  services: Services;
  gate: Gate<Access, Admission, Admitted>;
  identifierPrefix: string;
  proxies: ProxyTrust;
  /** The proof that this node sends with a request that it forwards to another one with these headers. */
  nodeProof: ProveNode;
  /** The maximum number of open connections. */
  connections: number;
  bodyLimits: BodyLimits;
  log: Log;
  metrics: HttpMetrics;
  /** Why writes are refused now (the disk is nearly full), or undefined. */
  writesRefused: () => Fault | undefined;
  system: SystemOptions;
}

export function registerRoutes<Access, Admission, Admitted, Services>(
  server: FastifyInstance,
  options: HttpOptions<Access, Admission, Admitted, Services>,
  sharing: Pick<SharedByRoutes, "turns" | "connections" | "requestSlots" | "literalPaths">,
): void {
  const shared = { ...sharing, endingSignal: endingSignals(server), slots: new HandlerSlots() };
  for (const route of routeTable(options.endpoints)) server.route(routeOptions(route, options, shared));
}

interface SharedByRoutes {
  readonly endingSignal: (reply: FastifyReply) => AbortSignal;
  readonly slots: HandlerSlots;
  readonly turns: Turns;
  readonly connections: Connections;
  readonly requestSlots: RequestSlots;
  /** The beginnings of paths whose rest is a parameter as it was sent. */
  readonly literalPaths: readonly string[];
}

function routeOptions<Access, Admission, Admitted, Services>(
  route: Route<Endpoint<Access, Admitted, Services>>,
  options: HttpOptions<Access, Admission, Admitted, Services>,
  shared: SharedByRoutes,
): RouteOptions {
  const { endpoint } = route;
  const { gate, services, writesRefused } = options;
  const { endingSignal, turns, connections } = shared;
  // The token may be in a header that caches do not know.
  const headers = { "Cache-Control": "private, no-store", ...deprecationHeaders(endpoint, route.version) };
  const isGet = endpoint.method === "GET";
  const search = objectSearch(endpoint, gate, services);
  const codecOfRoute = lazy(() => formCodecOf(endpoint, route.version));
  const admissionOf = (request: FastifyRequest): Admission => request.admission as Admission; // set in onRequest below
  const searchEarly = (request: FastifyRequest, reply: FastifyReply): Promise<EarlySearch | undefined> =>
    search.beforeBody(request, admissionOf(request), arrivalOf(request), () => endingSignal(reply));

  return {
    method: endpoint.method,
    url: route.url,
    config: configOf(endpoint, gate),
    async onRequest(request, reply) {
      if (endpoint.restOfPath === true) takeRestOfPath(request, shared.literalPaths);
      reply.headers(headers);
      checkOneToken(request.raw);
      request.admission = await gate.admit(endpoint, arrivalOf(request));
      const [user] = gate.owners(admissionOf(request));
      if (user !== undefined) {
        turns.learn(request, user);
        connections.identify(request.raw.socket, user);
      }
      request.rawReply = reply.raw;
      request.bodyTerms = gate.bodyTerms(endpoint, admissionOf(request));
      request.earlySearch = await searchEarly(request, reply);
      const refusal = isGet || endpoint.worksOnFullDisk === true ? undefined : writesRefused();
      if (refusal !== undefined) throw refusal;
    },
    async handler(request, reply) {
      const { socket } = request.raw;
      const pause = await beginHandling(shared, gate.owners(admissionOf(request)), socket);
      try {
        if (socket.destroyed) throw incompleteRequest(undefined); // the client disconnected while it waited
        const previous = admissionOf(request);
        request.admission = await gate.renew(endpoint, previous, arrivalOf(request));
        if (request.admission !== previous) request.earlySearch = await searchEarly(request, reply);
        return await handle(request, reply, pause);
      } finally {
        pause();
      }
    },
  };

  async function handle(request: FastifyRequest, reply: FastifyReply, pause: () => void): Promise<unknown> {
    const arrival = arrivalOf(request);
    const admission = admissionOf(request);
    const codec = codecOfRoute();
    const { readQuery, readBody, readLoosely } = codec;
    reply.serializer(codec.writeReply).type("application/json; charset=utf-8");
    const admitted = gate.enter(endpoint, admission, arrival);
    const { nodeProof } = options;
    const renew = async (): Promise<void> => void (await gate.renew(endpoint, admission, arrival));
    const context = contextOf(request, reply, { ...shared, nodeProof, owners: gate.owners(admission), pause, renew });
    if (request.earlySearch !== undefined && "fault" in request.earlySearch) throw request.earlySearch.fault;
    const given = (): Record<string, unknown> => readLoosely(isGet ? fieldsOf(request) : request.body);
    const searchContext = { ...admitted, given, endingSignal: context.endingSignal };
    const { params, found } = request.earlySearch ?? (await search.find(request, admission, searchContext));
    const query = readQuery(isGet ? { ...objectBody(request.body), ...queryOf(request) } : queryOf(request));
    const { fields, warnings } = codec.translate(isGet ? {} : (request.body ?? {}));
    const input: RequestInput<TObject, TObject, TObject> = { params, query, body: isGet ? {} : readBody(fields) };
    if (arrival.idempotencyKey !== undefined && endpoint.method === "POST") {
      const kept = await gate.replay(admission, arrival, request.bodySha256?.() ?? SHA256_OF_NOTHING);
      if (kept !== undefined) {
        reply.header("Idempotent-Replayed", "true");
        return codec.show(kept, warnings);
      }
    }
    const call = (afterId: number | undefined): Promise<unknown> =>
      endpoint.handle({ ...input, ...admitted, ...context, found, afterId }, services);
    const answer = await codec.reply(call, query);
    if (!(answer instanceof ForwardedReply || answer instanceof StreamReply)) return codec.show(answer, warnings);
    return sendStream(answer, reply, context);
  }
}

function configOf<Access, Admission, Admitted, Services>(
  { id, byteBody }: Endpoint<Access, Admitted, Services>,
  gate: Gate<Access, Admission, Admitted>,
): FastifyContextConfig {
  return {
    operation: id,
    caller: (admission) => gate.describe(admission as Admission), // set in onRequest
    takesBytes: byteBody !== undefined,
  };
}

/** The router has seen a placeholder. A path that does not begin as written in the definition is unknown. */
function takeRestOfPath(request: FastifyRequest, literalPaths: readonly string[]): void {
  const rest = restOfPath(request.originalUrl, literalPaths);
  if (rest === undefined) throw noSuchOperation(request.method, request.originalUrl);
  const [name = ""] = Object.keys(recordOf(request.params)).slice(-1);
  request.params = { ...recordOf(request.params), [name]: rest };
}

/** Waits until the request may be handled. Returns a function to call when its handling ends or pauses. */
async function beginHandling(
  { slots, connections }: SharedByRoutes,
  owners: readonly string[],
  socket: Socket,
): Promise<() => void> {
  const releaseSlot = await slots.acquire(owners);
  const endHandling = connections.beginHandling(socket);
  return () => {
    releaseSlot();
    endHandling();
  };
}

interface ContextSources extends SharedByRoutes {
  readonly nodeProof: ProveNode;
  readonly owners: readonly string[];
  readonly pause: () => void;
  /** Checks access again. */
  readonly renew: () => Promise<void>;
}

function contextOf(
  request: FastifyRequest,
  reply: FastifyReply,
  { endingSignal, requestSlots, nodeProof, owners, pause, renew }: ContextSources,
): Omit<RequestContext, "afterId"> {
  // A handler that requests this signal is about to wait, so its slot is released.
  const endingOf = (): AbortSignal => {
    pause();
    return endingSignal(reply);
  };
  return {
    endingSignal: endingOf,
    header: (name) => headerOf(request, name),
    isHead: request.method === "HEAD",
    bytes: (count) => incomingBytes(request.raw, { count, beforeEnd: renew }),
    ...requestSlots.ofRequest(owners, (release) => whenFinished(request.raw, reply.raw, release)),
    forward: isForwarded(request) ? undefined : (base) => forwardRequest(request, base, nodeProof, endingOf()),
  };
}

/** Node joins the values of a repeated header. */
function headerOf({ headers }: FastifyRequest, name: string): string | undefined {
  const value = headers[name.toLowerCase()];
  return Array.isArray(value) ? value.join(", ") : value;
}

async function sendStream(
  answer: StreamReply | ForwardedReply,
  reply: FastifyReply,
  { requireSlot }: Pick<RequestContext, "requireSlot">,
): Promise<Readable> {
  try {
    requireSlot("stream");
  } catch (refusal) {
    await answer.discard();
    throw refusal;
  }
  return answer instanceof StreamReply ? streamOf(answer, reply) : sendForwarded(answer, reply);
}

const SHA256_OF_NOTHING = createHash("sha256").digest();

function arrivalOf(request: FastifyRequest): Arrival {
  const { "idempotency-key": key } = request.headers;
  const queryAt = request.url.indexOf("?");
  return {
    requestId: request.id,
    method: request.method,
    path: queryAt === -1 ? request.url : request.url.slice(0, queryAt),
    sentUrl: request.originalUrl,
    address: request.ip,
    token: tokenOf(request.headers),
    idempotencyKey: typeof key === "string" ? key : undefined,
  };
}

function objectBody(body: unknown): Record<string, unknown> {
  if (body === undefined || body === null) return {};
  if (!isRecord(body)) throw new Fault("invalid", "The body must be a JSON object.");
  return body;
}

/** The body of a GET and its query, which takes precedence. */
function fieldsOf(request: FastifyRequest): Record<string, unknown> {
  return { ...(isRecord(request.body) ? request.body : {}), ...queryOf(request) };
}

function queryOf(request: FastifyRequest): Record<string, unknown> {
  return recordOf(request.query);
}

function recordOf(value: unknown): Record<string, unknown> {
  return isRecord(value) ? { ...value } : {};
}

/**
 * Creates signals that abort when the client disconnects or the server starts to stop, so that long polls and followed
 * logs do not delay a stop. A signal is created only for handlers that request one.
 */
export function endingSignals(server: FastifyInstance): (reply: FastifyReply) => AbortSignal {
  const open = new Set<AbortController>();
  let isStopping = false;
  server.addHook("preClose", (done) => {
    isStopping = true;
    for (const controller of open) controller.abort();
    done();
  });
  // The headers of this response still allowed keep-alive, so the connection must be closed here.
  server.addHook("onResponse", ({ raw }, _reply, done) => {
    if (isStopping) raw.socket.end();
    done();
  });
  return ({ raw }) => {
    const controller = new AbortController();
    open.add(controller);
    raw.once("close", () => {
      open.delete(controller);
      controller.abort();
    });
    if (isStopping || raw.destroyed) controller.abort();
    return controller.signal;
  };
}
