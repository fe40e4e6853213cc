/**
 * The port is checked before a start creates anything, so that a first start on a taken port leaves no data directory
 * behind. It is not checked if Headgate itself may use the port. If a server of this data directory is running, the start
 * fails later and reports its pid. If a port holder of an earlier server is running, it hands over the port.
 */
import { once } from "node:events";
import { existsSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import type { Config } from "./config.ts";
import { findDataDirHolder } from "./db/embedded/data-dir-lock.ts";
import { HOLDER_SOCKET } from "./processes/port-holder/port-holder.ts";
import { Fault } from "./lib/fault.ts";
import { FAMILY_MISSING, listenAddresses } from "./lib/listen-addresses.ts";

/** Throws a fault that says what to do if the port cannot be opened. */
export async function checkPort({ dataDir, host, port }: Pick<Config, "dataDir" | "host" | "port">): Promise<void> {
  if (port === 0 || existsSync(join(dataDir, HOLDER_SOCKET)) || findDataDirHolder(dataDir) !== undefined) return;
  await explainListenError({ host, port }, async () => {
    for (const [index, address] of listenAddresses(host).entries()) {
      const listener = createServer();
      try {
        await once(listener.listen({ ...address, port }), "listening");
        await once(listener.close(), "close");
      } catch (error) {
        if (index === 0 || !(error instanceof Error && "code" in error && FAMILY_MISSING.has(error.code))) throw error;
      }
    }
  });
}

/**
 * Turns an error of the operating system about an address into a fault that says what to do. `takenHint` is added if
 * the port is in use.
 */
export async function explainListenError<T>(
  { host, port }: Pick<Config, "host" | "port">,
  work: () => Promise<T>,
  takenHint = "",
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Error) || !("code" in error) || !isListenError(error)) throw error;
    const cure = LISTEN_CURES[String(error.code)]?.(port);
    if (cure === undefined) throw error;
    const hint = error.code === "EADDRINUSE" ? takenHint : "";
    const address = "address" in error && typeof error.address === "string" ? error.address : host;
    const full = `${address.includes(":") ? `[${address}]` : address}:${port}`;
    throw new Fault("invalid", `cannot listen on ${full}: ${cure}.${hint}`, { cause: error });
  }
}

/** The port holder of an earlier start hands over its port only for the same kind of addresses. */
export const HOLDER_HINT = " If only HEADGATE_HOST has changed, run `npm run admin -- stop --all` first.";

/** Why the operating system refused an address, and what to do. */
const LISTEN_CURES: Readonly<Record<string, ((port: number) => string) | undefined>> = {
  EADDRINUSE: (port) =>
    "another program uses this port (HEADGATE_PORT). Stop it, or set another port, such as " +
    `HEADGATE_PORT=${port === 8471 ? 8472 : 8471} npm start`,
  EACCES: () => "HEADGATE_PORT is reserved for root. Set a port of at least 1024",
  EADDRNOTAVAIL: () => "HEADGATE_HOST is not an address of this machine",
  ENOTFOUND: () => "HEADGATE_HOST is an unknown host name",
  EAI_AGAIN: () => "HEADGATE_HOST is a host name that cannot be resolved now",
};

/** Access to a file may be denied with the same code. */
function isListenError(error: Error): boolean {
  return "syscall" in error && ["listen", "bind", "getaddrinfo"].includes(String(error.syscall));
}
