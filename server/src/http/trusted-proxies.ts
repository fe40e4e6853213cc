/**
 * Decides whose `X-Forwarded-For` counts. It comes from a proxy, and every program on this machine can connect from a
 * loopback address, so an address of this machine proves nothing.
 *
 * | The request arrives | Trusted |
 * |---|---|
 * | by the Unix socket for proxies | always: the socket's folder decides who can connect |
 * | with the proof of a Headgate node in `X-Headgate-Proxy` | always |
 * | from a listed address, and there is a secret | if the secret is in `X-Headgate-Proxy` |
 * | from a listed address, and there is no secret | unless it is an address of this machine |
 * | otherwise | never |
 *
 * A trusted proxy appends the address of its own client, which may be another proxy. If that address is listed too, the
 * one before it counts. An address of this machine always counts as it is: otherwise a program could call the local
 * proxy with a forged header.
 *
 * The header with the proof is removed from every request, and forwarded addresses from requests that are not trusted.
 * `X-Forwarded-Host` is removed from every request, too: proxies set `Host`, and many pass on the header of the client.
 * Nothing after this step sees any of them.
 */
import { hash, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders, IncomingMessage, Server } from "node:http";
import type { Socket } from "node:net";
import { networkInterfaces } from "node:os";
import { addressMatcher } from "../lib/networks.ts";
import type { Secret } from "../lib/secret.ts";

export interface ProxyTrust {
  /** Addresses and CIDR blocks of proxies. */
  readonly networks: readonly string[];
  /** Every proxy that connects over TCP must send it. Null: its address is enough. */
  readonly secret: Secret | null;
  /** Whether this is the proof of a Headgate server with the same keys, for a request with these headers. */
  readonly isNodeProof: (proof: string, headers: IncomingHttpHeaders) => boolean;
}

export const PROXY_HEADER = "x-headgate-proxy";
const FORWARDED_HEADERS = ["x-forwarded-for", "x-forwarded-proto"];

const proxyConnections = new WeakSet<Socket>();

/** Call for each connection on the Unix socket for proxies. */
export function markProxyConnection(socket: Socket): void {
  proxyConnections.add(socket);
}

/** Must be called after all other listeners were added, because it has to be the first one. */
export function sanitiseProxyHeaders(server: Server, trust: ProxyTrust): void {
  const isTrusted = trustRule(trust);
  server.prependListener("request", (request: IncomingMessage) => {
    const proof = takeHeader(request, PROXY_HEADER);
    takeHeader(request, "x-forwarded-host");
    if (!isTrusted(request, proof)) for (const name of FORWARDED_HEADERS) takeHeader(request, name);
    else if (proxyConnections.has(request.socket) && forwardsNoAddress(request)) {
      request.headers["x-forwarded-for"] = "unknown"; // a Unix socket has no address that could be used instead
    }
  });
}

/** For Fastify: the peer was checked by `sanitiseProxyHeaders`; further hops are trusted by their address. */
export function trustedHops(networks: readonly string[]): (address: string, hop: number) => boolean {
  const isListed = addressMatcher(networks);
  return (address, hop) => hop === 0 || (isListed(address) && !isOwnAddress(address));
}

function trustRule({ networks, secret, isNodeProof }: ProxyTrust) {
  const isListed = addressMatcher(networks);
  const isSecret = secret === null ? undefined : constantTimeMatcher(secret);
  const isOnOtherMachine = oncePerConnection((socket) => !isOwnAddress(socket.remoteAddress));
  return ({ socket, headers }: IncomingMessage, proof: string | undefined): boolean => {
    if (proxyConnections.has(socket)) return true;
    if (proof !== undefined && isNodeProof(proof, headers)) return true;
    if (!isListed(socket.remoteAddress)) return false;
    return isSecret === undefined ? isOnOtherMachine(socket) : proof !== undefined && isSecret(proof);
  };
}

function forwardsNoAddress({ headers }: IncomingMessage): boolean {
  return /^[\s,]*$/.test([headers["x-forwarded-for"] ?? ""].flat().join());
}

/** Compares hashes, because the time of the comparison must not show the length of the secret either. */
function constantTimeMatcher(secret: Secret): (text: string) => boolean {
  const digest = (text: string): Buffer => hash("sha256", text, "buffer");
  const expected = digest(secret.reveal());
  return (text) => timingSafeEqual(digest(text), expected);
}

/** A program can also connect from another address of this machine than loopback. */
function isOwnAddress(address: string | undefined): boolean {
  const own = Object.values(networkInterfaces()).flatMap((each) => (each ?? []).map((entry) => entry.address));
  return addressMatcher(["127.0.0.0/8", "::1", ...own])(address);
}

function oncePerConnection(decide: (socket: Socket) => boolean): (socket: Socket) => boolean {
  const known = new WeakMap<Socket, boolean>();
  return (socket) => {
    const answer = known.get(socket) ?? decide(socket);
    known.set(socket, answer);
    return answer;
  };
}

/**
 * Removes a header and erases its value where it arrived; Node counts on the length of `rawHeaders`. Returns its value;
 * of a repeated header, all values, which is no valid proof.
 */
function takeHeader(request: IncomingMessage, name: string): string | undefined {
  const { headers, rawHeaders } = request;
  const value = headers[name];
  if (value === undefined) return undefined;
  delete headers[name];
  for (let at = 0; at < rawHeaders.length; at += 2) {
    if (rawHeaders[at]?.toLowerCase() === name) rawHeaders[at + 1] = "";
  }
  return Array.isArray(value) ? value.join(", ") : value;
}
