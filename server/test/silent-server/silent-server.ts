import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { onTestFinished } from "vitest";

export interface SilentServer {
  readonly port: number;
  /** The number of open connections. */
  readonly open: () => number;
  /** The number of all connections so far. */
  readonly accepted: () => number;
}

/** For one test: accepts every connection and never sends anything. */
export async function startSilentServer(): Promise<SilentServer> {
  const open = new Set<Socket>();
  let accepted = 0;
  const server = createServer((socket) => {
    accepted += 1;
    open.add(socket);
    socket.on("error", () => undefined);
    socket.on("close", () => open.delete(socket));
    socket.resume(); // to notice when it is closed
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    for (const socket of open) socket.destroy();
    server.close();
  });
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return { port, open: () => open.size, accepted: () => accepted };
}
