import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer, type Server } from "node:net";

const FIRST_PORT = 20_000;
const PORTS = 12_000; // below the ephemeral ports of the system

/** A port that is free in both address families, for servers that are restarted on the same port. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = FIRST_PORT + randomInt(PORTS);
    if (await isFree(port)) return port;
  }
}

/** Whether another program could listen there now, in both families. */
export async function isFree(port: number): Promise<boolean> {
  const found = await Promise.all(["127.0.0.1", "::1"].map((host) => bind(host, port)));
  for (const server of found) if (server !== "taken") server?.close();
  return !found.includes("taken");
}

/** Undefined: the machine has no such address. */
async function bind(host: string, port: number): Promise<Server | "taken" | undefined> {
  const server = createServer();
  try {
    await once(server.listen({ host, port, ipv6Only: true }), "listening");
    return server;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EADDRINUSE" ? "taken" : undefined;
  }
}
