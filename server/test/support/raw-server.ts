import { once } from "node:events";
import { createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { onTestFinished } from "vitest";

/** Registers a function that is called after the current test, the last one first. */
export function afterTest(close: () => void): void {
  onTestFinished(close);
}

export interface RawServer {
  readonly origin: string;
  readonly sockets: Socket[];
  /** The requests of all connections. */
  readonly requests: string[];
}

export type RawAnswer = (socket: Socket, count: number) => unknown;

/** A server that answers each request with bytes of the test's choice. */
export async function rawServer(answer: RawAnswer, server: Server = createServer()): Promise<RawServer> {
  const [sockets, requests]: [Socket[], string[]] = [[], []];
  const isTls = "setSecureContext" in server;
  server.on(isTls ? "secureConnection" : "connection", (socket: Socket) => {
    sockets.push(socket.setNoDelay(true));
    let text = "";
    socket.on("error", () => undefined);
    socket.on("data", (chunk) => {
      text += chunk.toString("latin1");
      for (let end = text.indexOf("\r\n\r\n"); end !== -1; end = text.indexOf("\r\n\r\n")) {
        requests.push(text.slice(0, end));
        text = text.slice(end + 4);
        void answer(socket, requests.length);
      }
    });
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  afterTest(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const { port } = server.address() as AddressInfo; // a TCP server that listens has one
  return { origin: `${isTls ? "https" : "http"}://127.0.0.1:${port}`, sockets, requests };
}

/** A response with this body. */
export const ok = (body: string, ...headers: string[]): string =>
  ["HTTP/1.1 200 OK", `Content-Length: ${body.length}`, ...headers, "", body].join("\r\n");

/** Unlike `once`, it does not fail if the connection is reset. */
export function whenClosed(socket: Socket | undefined): Promise<void> {
  return new Promise((closed) => (socket?.closed === false ? socket.once("close", () => closed()) : closed()));
}
