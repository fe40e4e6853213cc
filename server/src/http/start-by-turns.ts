import { hash } from "node:crypto";
import type { Socket } from "node:net";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { FairQueue } from "../lib/fair-queue.ts";
import { Fault } from "../lib/fault.ts";
import { SoleUse } from "../lib/sole-use.ts";
import type { Connections } from "./limit-connections.ts";
import { tokenOf } from "./token-header.ts";

/** How many requests start in one turn of the event loop: more would delay the requests of others. */
const STARTS_A_TURN = 2;
/** While only one user is active. Starting more requests in one turn takes less CPU time for each of them. */
const STARTS_OF_SOLE_USER = 32;
/** Per user or address; further requests are refused at once. */
const MAX_WAITING = 1000;
const MAX_KNOWN_TOKENS = 10_000;

export interface Turns {
  /**
   * Records that the request's token is valid and belongs to this user: later requests with it share the user's turns.
   */
  learn(request: FastifyRequest, user: string): void;
}

/**
 * Starts few requests in each turn of the event loop, alternating between users: a user who sends many requests at once
 * does not delay all others. The user of a token is known once a request with it has been admitted. Requests with
 * unknown tokens, or none, take turns by their address, so that inventing tokens gains nothing. While only one user
 * sends requests, more of them start in a turn.
 */
export function startByTurns(server: FastifyInstance, connections: Pick<Connections, "identify">): Turns {
  const waiting = new FairQueue<Waiting>({ waiting: MAX_WAITING, taken: () => Infinity });
  /** Keyed by the hash of the token, least recently used first. */
  const users = new Map<string, string>();
  const presence = new SoleUse<string>();
  const most = (): number => (presence.isSole ? STARTS_OF_SOLE_USER : STARTS_A_TURN);
  let started = 0;
  let isTurnAhead = false;
  const planTurn = (): void => {
    if (!isTurnAhead) setImmediate(turn);
    isTurnAhead = true;
  };
  const turn = (): void => {
    isTurnAhead = false;
    started = 0;
    while (started < most()) {
      const next = waiting.take();
      if (next === undefined) return;
      next.release();
      const { socket, begin } = next.item;
      if (socket.destroyed) continue; // the client has closed the connection
      started += 1;
      begin();
    }
    planTurn();
  };
  server.addHook("onRequest", (request, _reply, done) => {
    // Health probes are not queued.
    if (request.routeOptions.config.isProbe === true) {
      done();
      return;
    }
    planTurn();
    if (started < most()) {
      started += 1;
      done();
      return;
    }
    const token = hashedToken(request);
    const user = token === undefined ? undefined : users.get(token);
    const sender = user ?? `address ${request.ip}`;
    const { socket } = request.raw;
    if (user !== undefined) connections.identify(socket, user);
    presence.note(sender);
    if (!waiting.add(sender, { socket, begin: () => done() })) done(tooMany());
  });
  return {
    learn(request, user) {
      const token = hashedToken(request);
      if (token === undefined) return;
      presence.note(user);
      users.delete(token);
      users.set(token, user);
      const [oldest] = users.keys();
      if (users.size > MAX_KNOWN_TOKENS && oldest !== undefined) users.delete(oldest);
    },
  };
}

interface Waiting {
  readonly socket: Socket;
  readonly begin: () => void;
}

function tooMany(): Fault {
  const text = `More than ${MAX_WAITING} of your requests are waiting: send fewer at the same time.`;
  return new Fault("rate-limited", text, { retryAfterSeconds: 1 });
}

/** A hash of the token, so that the map above keeps no secret in memory. */
function hashedToken({ headers }: FastifyRequest): string | undefined {
  const token = tokenOf(headers);
  return token === undefined ? undefined : hash("sha256", token, "base64");
}
