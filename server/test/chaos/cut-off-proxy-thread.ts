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
let losesAnswers = false;

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
  if (losesAnswers) far.pause();
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

type Order = "fall silent" | "break" | "lose answers" | "heal";

parentPort?.on("message", (order: Order) => {
  if (order === "break") openPairs().forEach(breakPair);
  if (order === "lose answers") {
    losesAnswers = true;
    for (const [, far] of openPairs()) far.pause(); // as TCP does: the other side sends again until it is heard
  }
  if (order !== "heal") send("cut");
  if (order === "lose answers") return;
  if (order !== "heal") Atomics.wait(lever, 0, CUT);
  const held = HELD[Atomics.load(lever, 0) - FIRST_HELD] ?? "breaks";
  if (losesAnswers) for (const [, far] of openPairs()) far.resume();
  losesAnswers = false;
  openPairs().forEach(treatHeld[held]);
  send("healed");
});

server.listen({ port: 0, host: "127.0.0.1", backlog: BACKLOG }, () => {
  const address = server.address();
  send(typeof address === "object" ? address?.port : undefined);
});
