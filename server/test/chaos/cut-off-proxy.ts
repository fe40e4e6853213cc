import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";

/** Connects a node to its database. While it is cut, no data gets through, and neither side sees the other close. */
export interface CutOffProxy {
  readonly port: number;
  cut(): void;
  /**
   * Data that was held back arrives late, or never: the connections break, or stay silent for good, as when a firewall
   * has forgotten them.
   */
  heal(held: "arrives" | "breaks" | "is lost"): void;
  close(): void;
}

export async function startCutOffProxy(target: { host: string; port: number }): Promise<CutOffProxy> {
  const pairs = new Set<readonly [Socket, Socket]>();
  const lost = new Set<readonly [Socket, Socket]>();
  let isCut = false;
  const destroy = (): void => {
    for (const pair of pairs) for (const socket of pair) socket.destroy();
  };
  const server = createServer((near) => {
    const far = connect(target);
    const pair = [near, far] as const;
    pairs.add(pair);
    for (const socket of pair) {
      socket.on("error", () => undefined);
      socket.on("close", () => {
        if (isCut || lost.has(pair)) return; // the other side must not notice before the cut is healed
        pairs.delete(pair);
        for (const each of pair) each.destroy();
      });
    }
    forward(near, far);
    forward(far, near);
    if (isCut) for (const socket of pair) socket.pause();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the proxy has no port");
  return {
    port: address.port,
    cut() {
      isCut = true;
      for (const pair of pairs) for (const socket of pair) socket.pause();
    },
    heal(held) {
      isCut = false;
      if (held === "breaks") destroy();
      if (held === "is lost") {
        for (const pair of pairs) lost.add(pair);
        return;
      }
      for (const pair of pairs) {
        if (pair.some(({ destroyed }) => destroyed)) for (const socket of pair) socket.destroy();
        else for (const socket of pair) socket.resume();
      }
    },
    close() {
      destroy();
      server.close();
    },
  };
}

function forward(from: Socket, to: Socket): void {
  from.on("data", (bytes) => to.write(bytes));
  from.on("end", () => to.end());
}
