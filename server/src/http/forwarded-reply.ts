import type { IncomingHttpHeaders } from "node:http";
import type { Readable } from "node:stream";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { Dispatcher } from "undici";
import { lazy } from "../lib/lazy.ts";
import { sendPieces } from "./stream-reply.ts";
import { PROXY_HEADER } from "./trusted-proxies.ts";
import { tokenOf } from "./token-header.ts";

/** The reply of another Headgate server to the same request, passed on unchanged. */
export class ForwardedReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[]>>;
  readonly body: Dispatcher.ResponseData["body"];

  constructor({ statusCode, headers, body }: Dispatcher.ResponseData) {
    this.status = statusCode;
    this.headers = Object.fromEntries(
      Object.entries(headers).flatMap(([name, value]) =>
        value === undefined || HOP_BY_HOP_HEADERS.has(name) ? [] : [[name, value]],
      ),
    );
    this.body = body;
    body.on("error", () => undefined); // reported to its reader, if there is one
  }

  /** For a reply that is not sent. */
  async discard(): Promise<void> {
    this.body.destroy();
  }
}

/** Headers that concern only the connection between the two servers. */
const HOP_BY_HOP_HEADERS = new Set(["connection", "keep-alive", "transfer-encoding", "date"]);
const FORWARDED_HEADER = "x-headgate-forwarded";
const CONNECT_LIMIT_MS = 2000;
/** Longer than the longest wait that a client can request. */
const HEADERS_LIMIT_MS = 75_000;
/** A followed log without new lines sends keep-alive comments more often than this. */
const STALL_LIMIT_MS = 60_000;

/** Loaded when the first request is forwarded. */
const client = lazy(async () => {
  const { Agent, request } = await import("undici");
  const dispatcher = new Agent({ connect: { timeout: CONNECT_LIMIT_MS }, headersTimeout: HEADERS_LIMIT_MS });
  return { dispatcher, send: request };
});

/** Proves to the other server that the request with these headers comes from a node. */
export type ProveNode = (headers: IncomingHttpHeaders) => string;

/** A forwarded request is never forwarded again, so that two servers cannot send it back and forth. */
export function isForwarded(request: FastifyRequest): boolean {
  return request.headers[FORWARDED_HEADER] !== undefined;
}

/**
 * Sends the caller's own token, so that the other server checks access itself, and the caller's address with the proof
 * that makes it count there. Throws if it does not answer.
 */
export async function forwardRequest(
  request: FastifyRequest,
  base: string,
  prove: ProveNode,
  signal: AbortSignal,
): Promise<ForwardedReply> {
  const { accept } = request.headers;
  const token = tokenOf(request.headers);
  const caller = { ...(token === undefined ? {} : { "x-auth-token": token }), "x-forwarded-for": request.ip };
  const { dispatcher, send } = await client();
  const answer = await send(`${base}${request.url}`, {
    method: "GET",
    dispatcher,
    signal,
    bodyTimeout: STALL_LIMIT_MS,
    headers: {
      ...caller,
      ...(accept === undefined ? {} : { accept }),
      "x-request-id": request.id,
      [PROXY_HEADER]: prove(caller),
      [FORWARDED_HEADER]: "1",
    },
    body: request.rawBody ?? null,
  });
  return new ForwardedReply(answer);
}

export function sendForwarded({ status, headers, body }: ForwardedReply, reply: FastifyReply): Readable {
  reply.code(status).headers(headers);
  return sendPieces(body, reply);
}
