import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { Worker } from "node:worker_threads";

/** What happens to the open connections when a cut is healed. */
export const HELD = ["arrives", "breaks", "is lost"] as const;
/** The states of the lever: cut, cut in one direction, and from the third one on the places in `HELD`. */
export const CUT = 1;
const ONE_WAY = 2;
export const FIRST_HELD = 3;
/** Linux completes one handshake more than this without an `accept`. */
export const BACKLOG = 8;
/** On loopback a handshake takes far less, unless nothing answers it. */
const HANDSHAKE_MS = 200;

export interface ProxyData {
  readonly target: { readonly host: string; readonly port: number };
  readonly lever: Int32Array<SharedArrayBuffer>;
}

/**
 * Connects a node to its database. While it is cut, the proxy behaves as a network that drops every packet: bytes that
 * either side sends vanish without an error, neither side sees the other close, and a new connection never gets past
 * the first packet of its handshake.
 */
export interface CutOffProxy {
  readonly port: number;
  /** Settles when nothing gets through any more. The open connections fall silent, or break first. */
  cut(open?: "fall silent" | "break"): Promise<void>;
  /** One-way loss: what the node sends arrives, also on new connections, but nothing comes back. */
  loseAnswers(): Promise<void>;
  /**
   * Data that was held back arrives late, or never: the connections break, or stay silent for good, as when a firewall
   * has forgotten them.
   */
  heal(held: (typeof HELD)[number]): Promise<void>;
  close(): void;
}

/**
 * The proxy runs on a thread of its own, because a thread that waits accepts no connection: the kernel completes the
 * handshakes of the backlog, which we fill up, and drops the first packet of every later one.
 */
export async function startCutOffProxy({ host, port }: ProxyData["target"]): Promise<CutOffProxy> {
  const lever = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  const workerData: ProxyData = { target: { host, port }, lever };
  const worker = new Worker(new URL("cut-off-proxy-thread.ts", import.meta.url), { workerData });
  const [bound] = (await once(worker, "message")) as [number];
  let fillers: Socket[] = [];
  const release = (): void => {
    for (const socket of fillers) socket.destroy();
    fillers = [];
  };
  return {
    port: bound,
    async cut(open = "fall silent") {
      const isCut = once(worker, "message");
      Atomics.store(lever, 0, CUT);
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
      worker.postMessage(open);
      await isCut;
      fillers = await fillBacklog(bound);
    },
    async loseAnswers() {
      const isLost = once(worker, "message");
      Atomics.store(lever, 0, ONE_WAY);
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
      worker.postMessage("lose answers");
      await isLost;
    },
    async heal(held) {
      release();
      const isHealed = once(worker, "message");
      const isOneWay = Atomics.load(lever, 0) === ONE_WAY;
      Atomics.store(lever, 0, FIRST_HELD + HELD.indexOf(held));
      Atomics.notify(lever, 0);
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
      if (isOneWay) worker.postMessage("heal"); // it does not wait for the lever
      await isHealed;
    },
    close() {
      release();
      void worker.terminate();
    },
  };
}

async function fillBacklog(port: number): Promise<Socket[]> {
  const sockets = Array.from({ length: BACKLOG + 1 }, () => connect({ host: "127.0.0.1", port }));
  for (const socket of sockets) socket.on("error", () => undefined);
  await Promise.race([Promise.all(sockets.map((socket) => once(socket, "connect"))), delay(HANDSHAKE_MS)]);
  return sockets;
}
