import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";

/** A relay to a server that can be closed and opened again: meanwhile nothing listens on its port. */
export interface Relay {
  readonly endpoint: string;
  goAway(): Promise<void>;
  comeBack(): Promise<void>;
}

export async function relayTo(target: string): Promise<Relay> {
  const { hostname: host, port } = new URL(target);
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect({ host, port: Number(port) });
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on("error", () => undefined);
      socket.on("close", () => {
        sockets.delete(socket);
        near.destroy();
        far.destroy();
      });
    }
    near.pipe(far).pipe(near);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port: own } = server.address() as AddressInfo; // a TCP server that listens has one
  return {
    endpoint: `http://127.0.0.1:${own}`,
    async goAway() {
      const closed = once(server.close(), "close");
      for (const socket of sockets) socket.destroy();
      await closed;
    },
    async comeBack() {
      await once(server.listen(own, "127.0.0.1"), "listening");
    },
  };
}
