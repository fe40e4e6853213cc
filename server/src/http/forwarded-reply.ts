import type { FastifyReply, FastifyRequest } from "fastify";
import type { Dispatcher } from "undici";
import { lazy } from "../lib/lazy.ts";

/** The answer of another server of ours to the same request, passed on as it comes. */
export class ForwardedReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[]>>;
  readonly body: Dispatcher.ResponseData["body"];

  constructor({ statusCode, headers, body }: Dispatcher.ResponseData) {
    this.status = statusCode;
    this.headers = Object.fromEntries(
      Object.entries(headers).flatMap(([name, value]) =>
        value === undefined || OF_THE_CONNECTION.has(name) ? [] : [[name, value]],
      ),
    );
    this.body = body;
  }
}

/** Between two servers, and no matter of the client's. */
const OF_THE_CONNECTION = new Set(["connection", "keep-alive", "transfer-encoding", "date"]);
const MARK = "x-headgate-forwarded";
const CONNECT_LIMIT_MS = 2000;
/** Longer than anybody may let us wait for the end of a command. */
const HEAD_LIMIT_MS = 75_000;
/** A followed log that is quiet says so more often. */
const STALL_LIMIT_MS = 60_000;

/** Loaded with the first request that has to go elsewhere. */
const client = lazy(async () => {
  const { Agent, request } = await import("undici");
  const dispatcher = new Agent({ connect: { timeout: CONNECT_LIMIT_MS }, headersTimeout: HEAD_LIMIT_MS });
  return { dispatcher, send: request };
});

/** One that was forwarded is answered where it came to: no two servers send it to and fro. */
export function isForwarded(request: FastifyRequest): boolean {
  return request.headers[MARK] !== undefined;
}

/** With the caller's own token: the other server judges for itself. Fails when it does not answer. */
export async function forwardRequest(
  request: FastifyRequest,
  base: string,
  signal: AbortSignal,
): Promise<ForwardedReply> {
  const { "x-auth-token": token, accept } = request.headers;
  const { dispatcher, send } = await client();
  const answer = await send(`${base}${request.url}`, {
    method: "GET",
    dispatcher,
    signal,
    bodyTimeout: STALL_LIMIT_MS,
    headers: {
      ...(token === undefined ? {} : { "x-auth-token": token }),
      ...(accept === undefined ? {} : { accept }),
      "x-request-id": request.id,
      "x-forwarded-for": request.ip,
      [MARK]: "1",
    },
    body: request.rawBody ?? null,
  });
  return new ForwardedReply(answer);
}

export function passOn(
  { status, headers, body }: ForwardedReply,
  reply: FastifyReply,
): Dispatcher.ResponseData["body"] {
  reply.code(status).headers(headers);
  reply.raw.setTimeout(STALL_LIMIT_MS, () => reply.raw.destroy());
  return body;
}
