import type { FastifyInstance } from "fastify";

/** A client that does not read its answer must not hold up a stop. */
const DRAIN_LIMIT_MS = 20_000;

/** Gives the address at which it is reached. */
export async function listen(
  server: FastifyInstance,
  { host, port }: { readonly host: string; readonly port: number },
): Promise<string> {
  // Of a name with several addresses Fastify would drain the first alone.
  await server.listen({ host: host === "localhost" ? "127.0.0.1" : host, port });
  const address = server.server.address();
  if (address === null || typeof address === "string") throw new Error("the server does not listen on TCP");
  return `http://${host.includes(":") ? `[${host}]` : host}:${address.port}`;
}

/** Takes no more requests and settles when those at work are answered; `hurry` cuts them. */
export async function drain(server: FastifyInstance, hurry = new AbortController().signal): Promise<void> {
  const cut = (): void => server.server.closeAllConnections();
  const limit = setTimeout(cut, DRAIN_LIMIT_MS);
  hurry.addEventListener("abort", cut);
  if (hurry.aborted) cut();
  await server.close();
  clearTimeout(limit);
  hurry.removeEventListener("abort", cut);
}
