import type { FastifyRequest } from "fastify";

/** A host name or address, and a port, without characters that have a meaning in a shell or in HTML. */
const PLAIN_HOST = /^([A-Za-z0-9.-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(:\d{1,5})?$/;

/**
 * The address that the client used for this server if it is safe to print, else the local address of the connection.
 */
export function serverAddress({ protocol, host, socket }: FastifyRequest): string {
  if (PLAIN_HOST.test(host)) return `${protocol}://${host}`;
  const { localAddress = "127.0.0.1", localPort = 80 } = socket;
  return `http://${localAddress.includes(":") ? `[${localAddress}]` : localAddress}:${localPort}`;
}
