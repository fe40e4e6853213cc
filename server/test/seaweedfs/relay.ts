import { once } from "node:events";
import { createServer as createHttpServer, request as sendRequest } from "node:http";
import type { ClientRequest, IncomingMessage, ServerResponse } from "node:http";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";

/** A relay to a server that can be closed and opened again: meanwhile nothing listens on its port. */
export interface Relay {
  readonly endpoint: string;
  goAway(): Promise<void>;
  comeBack(): Promise<void>;
}

export async function relayTo(target: string): Promise<Relay> {
  const { hostname: host, port } = new URL(target);
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect({ host, port: Number(port) });
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on("error", () => undefined);
      socket.on("close", () => {
        sockets.delete(socket);
        near.destroy();
        far.destroy();
      });
    }
    near.pipe(far).pipe(near);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port: own } = server.address() as AddressInfo; // a TCP server that listens has one
  return {
    endpoint: `http://127.0.0.1:${own}`,
    async goAway() {
      const closed = once(server.close(), "close");
      for (const socket of sockets) socket.destroy();
      await closed;
    },
    async comeBack() {
      await once(server.listen(own, "127.0.0.1"), "listening");
    },
  };
}

/**
 * A failure that the relay causes instead of relaying a request:
 *
 * | Kind | The client sees | The store |
 * |---|---|---|
 * | `answer` | this answer, after `until` has resolved | never sees the request |
 * | `reset` | a reset connection | never sees the request |
 * | `lost-answer` | a reset connection, after `afterwards` | has done what was asked |
 * | `cut` | the first bytes of the answer's body, then a reset connection | has done what was asked |
 * | `damage` | the answer | gets a body whose first byte is different |
 * | `damage-answer` | an answer whose body has another first byte | has done what was asked |
 * | `silence` | nothing until it gives up | never sees the request |
 * | `hold` | the answer, after `until` has resolved | gets the request then |
 * | `slow` | the answer | gets the body at this rate |
 */
export type Fault =
  | {
      readonly kind: "answer";
      readonly status: number;
      readonly headers?: Readonly<Record<string, string>>;
      readonly body?: string;
      readonly until?: Promise<unknown>;
    }
  | { readonly kind: "reset" | "damage" | "damage-answer" | "silence" }
  | { readonly kind: "lost-answer"; readonly afterwards?: () => Promise<unknown> }
  | { readonly kind: "cut"; readonly bytes: number }
  | { readonly kind: "hold"; readonly until: Promise<unknown> }
  | { readonly kind: "slow"; readonly bytesPerSecond: number };

export interface RelayedRequest {
  readonly method: string;
  /** The path with the query. */
  readonly url: string;
  readonly headers: Readonly<IncomingMessage["headers"]>;
  /** 1 for the first request that the relay got. */
  readonly count: number;
  /** Requests that had no answer yet when this one arrived, including this one. */
  readonly inFlight: number;
}

export interface FaultyRelay {
  readonly endpoint: string;
  /** All requests so far, including those that failed. */
  readonly requests: readonly RelayedRequest[];
  close(): Promise<void>;
}

/** An error of the store. With the status 200 it is what S3 sends if it fails after it has begun to respond. */
export function errorAnswer(status: number, code: string): Fault {
  const body = `<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>${code}</Code><Message>injected</Message></Error>`;
  return { kind: "answer", status, headers: { "content-type": "application/xml" }, body };
}

/** A relay to an HTTP server that fails as decided for each request; undefined relays the request. */
export async function faultyRelay(
  target: string,
  decide: (request: RelayedRequest) => Fault | undefined,
): Promise<FaultyRelay> {
  const requests: RelayedRequest[] = [];
  let inFlight = 0;
  const server = createHttpServer((near, response) => {
    const { method = "", url = "", headers } = near;
    inFlight += 1;
    response.once("close", () => (inFlight -= 1));
    const request = { method, url, headers, count: requests.length + 1, inFlight };
    requests.push(request);
    near.on("error", () => undefined);
    const fault = decide(request);
    if (fault?.kind === "answer") {
      near.resume();
      const answer = (): unknown => response.writeHead(fault.status, fault.headers).end(fault.body);
      near.on("end", () => void Promise.resolve(fault.until).then(answer));
    } else if (fault?.kind === "reset") near.socket.resetAndDestroy();
    else if (fault?.kind === "silence") near.resume();
    else if (fault?.kind === "hold")
      void fault.until.then(() => near.destroyed || relay(target, near, response, undefined));
    else relay(target, near, response, fault);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo; // a TCP server that listens has one
  return {
    endpoint: `http://127.0.0.1:${port}`,
    requests,
    async close() {
      const closed = once(server.close(), "close");
      server.closeAllConnections();
      await closed;
    },
  };
}

/** Relays the `host` header unchanged, because the client has signed it. */
function relay(target: string, near: IncomingMessage, response: ServerResponse, fault: Fault | undefined): void {
  const { method, headers, url } = near;
  const far = sendRequest(`${target}${url}`, { method, headers });
  const reset = (): unknown => near.socket.resetAndDestroy();
  far.on("error", () => near.socket.destroy());
  response.on("close", () => far.destroy());
  far.on("response", (answer) => {
    answer.on("error", () => near.socket.destroy());
    if (fault?.kind === "lost-answer") {
      answer.resume().on("end", () => void Promise.resolve(fault.afterwards?.()).then(reset));
      return;
    }
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    if (fault?.kind === "damage-answer") answer.once("data", damage);
    if (fault?.kind !== "cut") {
      answer.pipe(response);
      return;
    }
    answer.once("end", () => response.end()); // it had no body
    answer.once("data", (chunk: Buffer) => {
      response.write(chunk.subarray(0, fault.bytes), () => near.socket.resetAndDestroy());
    });
  });
  if (fault?.kind === "damage") near.once("data", damage);
  if (fault?.kind === "slow") void sendSlowly(near, far, fault.bytesPerSecond).catch(() => far.destroy());
  else near.pipe(far);
}

function damage(chunk: Buffer): void {
  chunk[0] = (chunk[0] ?? 0) ^ 0xff;
}

async function sendSlowly(near: IncomingMessage, far: ClientRequest, bytesPerSecond: number): Promise<void> {
  for await (const chunk of near as AsyncIterable<Buffer>) {
    far.write(chunk);
    await pause((1000 * chunk.length) / bytesPerSecond);
  }
  far.end();
}
