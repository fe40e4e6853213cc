import { connect, createServer, type Socket } from "node:net";
import { parentPort, workerData } from "node:worker_threads";
import { BACKLOG, CUT, FIRST_HELD, HELD, type ProxyData } from "./cut-off-proxy.ts";

/** The thread of `startCutOffProxy`. It sends its port, then a word after each cut and after each healing. */
const { target, lever } = workerData as ProxyData;
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
const send = (message: unknown): void => parentPort?.postMessage(message);
type Pair = readonly [near: Socket, far: Socket];
const pairs = new Set<Pair>();
const lost = new Set<Pair>();

const server = createServer((near) => {
  const far = connect(target);
  const pair: Pair = [near, far];
  pairs.add(pair);
  for (const socket of pair) {
    socket.on("error", () => undefined);
    socket.on("close", () => {
      if (lost.has(pair)) return; // the other side must never notice
      pairs.delete(pair);
      for (const each of pair) each.destroy();
    });
  }
  forward(near, far);
  forward(far, near);
});

function forward(from: Socket, to: Socket): void {
  from.on("data", (bytes) => to.write(bytes));
  from.on("end", () => to.end());
}

const treatHeld: Readonly<Record<(typeof HELD)[number], (pair: Pair) => void>> = {
  arrives: () => undefined,
  breaks: breakPair,
  "is lost"(pair) {
    lost.add(pair);
    for (const socket of pair) socket.pause();
  },
};

function breakPair(pair: Pair): void {
  for (const socket of pair) socket.destroy(); // closed at once, even if this thread waits from now on
}

const openPairs = (): Pair[] => [...pairs].filter((pair) => !lost.has(pair));

parentPort?.on("message", (open: "fall silent" | "break") => {
  if (open === "break") openPairs().forEach(breakPair);
  send("cut");
  Atomics.wait(lever, 0, CUT);
  const held = HELD[Atomics.load(lever, 0) - FIRST_HELD] ?? "breaks";
  openPairs().forEach(treatHeld[held]);
  send("healed");
});

server.listen({ port: 0, host: "127.0.0.1", backlog: BACKLOG }, () => {
  const address = server.address();
  send(typeof address === "object" ? address?.port : undefined);
});
