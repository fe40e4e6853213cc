/**
 * The server's listening sockets outlive the server. A small process, the holder (`port-holder.py`, in Python because Node
 * cannot pass sockets between processes that are not parent and child), opens them, shares them with the server and keeps
 * them after the server has ended for any reason. While no server is serving, the holder answers each request itself. It
 * ends when there is neither a server nor a tenant's program. The next server starts a new holder, which takes the sockets
 * over from the previous one. Both functions must be called under the lock of the data directory.
 */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { listenAddresses } from "../../lib/listen-addresses.ts";
import type { Log } from "../../lib/log.ts";
import { closeInheritedDescriptors } from "../detached-process/detached-process.ts";
import { pythonCandidates } from "../set-up/find-python.ts";

/** A Node handle for `listen`. */
export interface HeldSocket {
  /** Negative if it is closed. */
  readonly fd: number;
  close(): void;
}

export interface HeldPort {
  /** Each address has `ACCEPTS_A_TURN` of them. */
  readonly sockets: readonly HeldSocket[];
  /** Resolves when the holder has stopped, or started, to answer requests. */
  serve(isServing: boolean): Promise<void>;
  /** Leaves the port to the holder, which ends if no tenant's program is running. */
  release(): Promise<void>;
}

export interface PortToHold {
  readonly dataDir: string;
  readonly host: string;
  readonly port: number;
  /** A complete HTTP response for requests while no server is serving. */
  readonly answer: string;
  readonly log: Log;
}

/**
 * Node accepts one connection per listening handle in each iteration of its event loop. A client that opens connections
 * faster than that would fill the queue of the operating system, which does not distinguish clients.
 */
export const ACCEPTS_A_TURN = 8;

/** In the data directory while there is a holder, or after it was killed. */
export const HOLDER_SOCKET = "port-holder.sock";

const script = fileURLToPath(new URL("port-holder.py", import.meta.url));
const restartAfterMs = 1000;
const maxRestartPauseMs = 60_000;
const replyTimeoutMs = 10_000;
/** A program named python that does not respond for this long is not used. */
const startTimeoutMs = 20_000;

/** Undefined if there is no usable Python. Throws the operating system's error if the port is not available. */
export async function holdPort(plan: PortToHold): Promise<HeldPort | undefined> {
  const first = await startHolder(plan, { descriptors: [], isServing: false });
  return first === undefined ? undefined : new Port(plan, first);
}

/** Ends the holder of an earlier server, if there is one. */
export async function endPortHolder(dataDir: string): Promise<void> {
  if (!existsSync(join(dataDir, HOLDER_SOCKET))) return;
  for (const python of pythonCandidates()) {
    const child = spawnPython(python, "end", { folder: realpathSync(dataDir) }, ["ignore", "ignore", "ignore"]);
    if ((await exitOf(child)) === 0) return;
  }
}

class Port implements HeldPort {
  readonly sockets: readonly HeldSocket[];
  readonly #plan: PortToHold;
  #holder: Holder;
  #isServing = false;
  #isReleased = false;

  constructor(plan: PortToHold, holder: Holder) {
    this.#plan = plan;
    this.#holder = holder;
    this.sockets = holder.sockets;
    this.#watch();
  }

  async serve(isServing: boolean): Promise<void> {
    this.#isServing = isServing;
    await this.#holder.request({ serve: isServing }, "serving");
  }

  async release(): Promise<void> {
    this.#isReleased = true;
    for (const socket of this.sockets) socket.close(); // still open if the server never listened
    await this.#holder.request({ leave: true }, "stays");
    this.#holder.disconnect();
  }

  /** Restarts a holder that was killed. It gets the sockets from us, because we still have them. */
  #watch(): void {
    void this.#holder.ended.then(async () => {
      for (let pauseMs = restartAfterMs; !this.#isReleased; pauseMs = Math.min(2 * pauseMs, maxRestartPauseMs)) {
        this.#plan.log.warn("the process that holds the port has ended; starting another one");
        await delay(pauseMs, undefined, { ref: false });
        const addresses = this.sockets.length / ACCEPTS_A_TURN;
        const descriptors = this.sockets
          .slice(0, addresses)
          .map(({ fd }) => fd)
          .filter((fd) => fd >= 0);
        if (this.#isReleased || descriptors.length === 0) return; // the server closed them because it is about to end
        const current = { descriptors, isServing: this.#isServing };
        const next = await startHolder(this.#plan, current).catch(() => undefined);
        if (next === undefined) continue;
        this.#holder = next;
        await this.serve(this.#isServing); // it may have changed meanwhile
        this.#watch();
        return;
      }
    });
  }
}

interface Holder {
  readonly sockets: readonly HeldSocket[];
  readonly ended: Promise<unknown>;
  /** Resolves when the reply of that name arrives, the holder ends, or it does not reply in time. */
  request(message: object, reply: string): Promise<void>;
  disconnect(): void;
}

interface ServerState {
  /** The sockets that the server already has. */
  readonly descriptors: readonly number[];
  readonly isServing: boolean;
}

/** Undefined if no candidate is a usable Python. */
async function startHolder(plan: PortToHold, server: ServerState): Promise<Holder | undefined> {
  const { descriptors, isServing: serving } = server;
  const { host, port, answer } = plan;
  const folder = realpathSync(plan.dataDir);
  const runners = [...new Set([plan.dataDir, folder])].map((path) => join(path, "accounts/"));
  const inherited = descriptors.length;
  const copies = ACCEPTS_A_TURN;
  const order = { folder, addresses: listenAddresses(host), port, answer, runners, inherited, copies, serving };
  for (const python of pythonCandidates()) {
    const child = spawnPython(python, "hold", order, ["ignore", "ignore", "ignore", "ipc", ...descriptors]);
    const holder = await waitUntilHeld(child);
    if (holder !== undefined) return holder;
  }
  return undefined;
}

type Stdio = ("ignore" | "ipc" | number)[];

function spawnPython(python: string, action: "hold" | "end", order: object, stdio: Stdio): ChildProcess {
  closeInheritedDescriptors();
  const env = { PATH: process.env["PATH"] ?? "/usr/bin:/bin" };
  // -I and -S: it starts faster and imports no files of other users.
  const options = { cwd: "/", env, stdio, detached: true };
  const child = spawn(python, ["-I", "-S", script, action, JSON.stringify(order)], options);
  return child.on("error", () => undefined); // `exitOf` reports a failed start
}

/** Null if it could not be started. */
async function exitOf(child: ChildProcess): Promise<number | null> {
  try {
    const [code] = (await once(child, "exit")) as [number | null]; // as documented
    return code;
  } catch {
    return null;
  }
}

/** Undefined if it ended without a message or took too long: it is not Python, or too old. */
async function waitUntilHeld(child: ChildProcess): Promise<Holder | undefined> {
  const sockets: HeldSocket[] = [];
  const ended = exitOf(child);
  const reported = new Promise<unknown>((settle) => {
    child.on("message", (message, handle) => {
      if (handle !== undefined) sockets.push(handle as unknown as HeldSocket); // a native handle, whose type Node does not export
      if ("holds" in Object(message) || "failed" in Object(message)) settle(message);
    });
  });
  // Its last message can be read after its exit, but not after the end of the channel.
  const silent = ended.then((code) => (code !== null && child.connected ? once(child, "disconnect") : undefined));
  const message = await Promise.race([
    reported,
    silent.then(() => undefined),
    delay(startTimeoutMs, undefined, { ref: false }),
  ]);
  if (typeof message !== "object" || message === null) {
    child.kill("SIGKILL");
    return undefined;
  }
  if ("failed" in message) throw listenError(message.failed);
  child.unref();
  child.channel?.unref();
  return {
    sockets,
    ended,
    async request(message, reply) {
      const replied = replyOf(child, reply);
      if (child.connected) child.send(message, () => undefined); // `ended` reports a holder that ends now
      // The timer keeps our process alive meanwhile, because the holder does not; otherwise the shutdown would be incomplete.
      const over = new AbortController();
      const late = delay(replyTimeoutMs, undefined, { signal: over.signal }).catch(() => undefined);
      await Promise.race([replied, ended, late]);
      over.abort();
    },
    disconnect() {
      if (child.connected) child.disconnect();
    },
  };
}

function replyOf(child: ChildProcess, name: string): Promise<void> {
  return new Promise((settle) => {
    const onMessage = (message: unknown): void => {
      if (!(name in Object(message))) return;
      child.off("message", onMessage);
      settle();
    };
    child.on("message", onMessage);
  });
}

/** The same error as from Node's `listen`. */
function listenError(failure: unknown): Error {
  const { code, address, message } = Object(failure) as Record<string, unknown>;
  return Object.assign(new Error(`listen ${String(code)}: ${String(message)}`), { code, address, syscall: "listen" });
}
