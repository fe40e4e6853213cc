import type { FastifyRequest } from "fastify";

/** A host name or address, and a port: nothing that a shell or a page would take for more. */
const PLAIN_HOST = /^([A-Za-z0-9.-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(:\d{1,5})?$/;

/** Where the client has reached this server, as far as it may be repeated; else where the connection has come in. */
export function serverAddress({ protocol, host, socket }: FastifyRequest): string {
  if (PLAIN_HOST.test(host)) return `${protocol}://${host}`;
  const { localAddress = "127.0.0.1", localPort = 80 } = socket;
  return `http://${localAddress.includes(":") ? `[${localAddress}]` : localAddress}:${localPort}`;
}
