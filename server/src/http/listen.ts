import { lookup } from "node:dns/promises";
import { once } from "node:events";
import { createServer, type AddressInfo, type Server, type Socket } from "node:net";
import type { FastifyInstance, FastifyListenOptions } from "fastify";
import { FAMILY_MISSING, listenAddresses, type ListenAddress } from "../lib/listen-addresses.ts";
import { listenForProxy, type ProxySocket } from "./proxy-socket.ts";
import { markProxyConnection } from "./trusted-proxies.ts";

/** A client that does not read its response must not delay a stop. */
const DRAIN_LIMIT_MS = 20_000;

/** A listening socket that another process has opened: a handle of Node, or a file descriptor. */
export interface ListeningSocket {
  readonly fd: number;
}

export interface ListenOptions {
  readonly host: string;
  readonly port: number;
  /** Used instead of host and port. Several may share one address. */
  readonly sockets?: readonly ListeningSocket[] | undefined;
  readonly proxySocket?: ProxySocket | undefined;
}

export interface Listening {
  /** The URL at which clients reach the server. */
  readonly url: string;
  /** The URLs of all addresses, as reported by the operating system. */
  readonly socketUrls: readonly string[];
  /**
   * Accepts no more requests and resolves when the current ones are answered; aborting `hurry` closes their
   * connections.
   */
  readonly drain: (hurry?: AbortSignal) => Promise<void>;
}

export async function listen(server: FastifyInstance, options: ListenOptions): Promise<Listening> {
  const { host, port, sockets, proxySocket } = options;
  // First, because Fastify cannot listen again if this fails after a success.
  const forProxy = proxySocket === undefined ? [] : [await openProxySocket(server, proxySocket)];
  const open = (): Promise<Server[]> =>
    sockets === undefined ? bindAll(server, host, port) : listenOn(server, sockets);
  const additional = await open().catch((error: unknown) => {
    for (const listener of forProxy) listener.close();
    throw error;
  });
  const all = [server.server, ...additional].map(addressOf);
  return {
    url: await reachableUrl(host, all[0] ?? addressOf(server.server)),
    socketUrls: [...new Set(all.map(({ address, port: at }) => urlOf(address, at)))],
    drain: (hurry) => drain(server, [...additional, ...forProxy], hurry),
  };
}

async function openProxySocket(server: FastifyInstance, socket: ProxySocket): Promise<Server> {
  const listener = additionalListener(server, markProxyConnection);
  await listenForProxy(listener, socket);
  return listener;
}

/** Sockets of systemd may have another address than the setting; otherwise clients use the host of the setting. */
async function reachableUrl(host: string, { address, port }: AddressInfo): Promise<string> {
  if (host === address) return urlOf(host, port);
  const found = await lookup(host, { all: true }).catch(() => []);
  return urlOf(found.some((each) => each.address === address) ? host : address, port);
}

function urlOf(host: string, port: number): string {
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

/** A port that is free at one address may be taken at the other. */
const FREE_PORT_ATTEMPTS = 10;

/** Binds the second address first: Fastify can listen again after a failure, but not after a success. */
async function bindAll(server: FastifyInstance, host: string, port: number): Promise<Server[]> {
  const [first, second] = listenAddresses(host);
  for (let attempt = 1; ; attempt += 1) {
    const additional = second === undefined ? [] : await addListener(server, second, port);
    try {
      await server.listen({ ...first, port: additional[0] === undefined ? port : addressOf(additional[0]).port });
      return additional;
    } catch (error) {
      for (const listener of additional) listener.close();
      if (port !== 0 || codeOf(error) !== "EADDRINUSE" || attempt === FREE_PORT_ATTEMPTS) throw error;
    }
  }
}

/** Empty if the machine lacks this address family. */
async function addListener(server: FastifyInstance, address: ListenAddress, port: number): Promise<Server[]> {
  const listener = additionalListener(server);
  try {
    await once(listener.listen({ ...address, port }), "listening");
    return [listener];
  } catch (error) {
    if (FAMILY_MISSING.has(codeOf(error))) return [];
    throw error;
  }
}

async function listenOn(server: FastifyInstance, [first, ...rest]: readonly ListeningSocket[]): Promise<Server[]> {
  // Fastify passes its options to Node, which prefers the handle. For `localhost` it would open more sockets.
  const options = (socket: ListeningSocket | undefined): FastifyListenOptions =>
    ({ host: "127.0.0.1", _handle: socket }) as FastifyListenOptions;
  await server.listen(options(first));
  const additional = rest.map((socket) => additionalListener(server).listen(options(socket)));
  await Promise.all(additional.map((listener) => once(listener, "listening")));
  return additional;
}

/** Another socket of the same server. Fastify's own way creates a second server, which it does not drain. */
function additionalListener({ server }: FastifyInstance, mark: (socket: Socket) => void = () => undefined): Server {
  // The same options as Node's own HTTP server.
  return createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    mark(socket);
    if (server.listening) server.emit("connection", socket);
    else socket.destroy();
  });
}

function addressOf(server: Server): AddressInfo {
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the server is not listening on TCP");
  return address;
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && "code" in error ? error.code : undefined;
}

async function drain(
  server: FastifyInstance,
  additional: readonly Server[],
  hurry = new AbortController().signal,
): Promise<void> {
  const cut = (): void => server.server.closeAllConnections();
  const limit = setTimeout(cut, DRAIN_LIMIT_MS);
  hurry.addEventListener("abort", cut);
  if (hurry.aborted) cut();
  const closed = additional.map((listener) => once(listener.close(), "close"));
  await Promise.all([server.close(), ...closed]);
  clearTimeout(limit);
  hurry.removeEventListener("abort", cut);
}

/** systemd passes sockets from this file descriptor on. */
const FIRST_DESCRIPTOR = 3;

/**
 * The listening sockets that systemd opened for this process (`sd_listen_fds(3)`); empty if there are none. Removes the
 * variables from the environment, because child processes must not see them.
 */
export function takeSystemdSockets(env: NodeJS.ProcessEnv, pid: number): readonly ListeningSocket[] {
  const { LISTEN_PID: meantFor, LISTEN_FDS: count } = env;
  for (const name of ["LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"]) delete env[name];
  if (meantFor !== String(pid)) return [];
  return Array.from({ length: Number(count) || 0 }, (_, index) => ({ fd: FIRST_DESCRIPTOR + index }));
}
