/**
 * The server's listening sockets outlive the server. A small process, the holder (`port-holder.py`, in Python because Node
 * cannot pass sockets between processes that are not parent and child), opens them, shares them with the server and
 * keeps them when the server has gone, however it went. While no server serves, the holder answers each request itself. It
 * ends when there is neither a server nor a program of a tenant. The next server starts a new holder, which takes
 * the sockets over from the previous one. Call both functions only under the lock of the data directory.
 */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { listenPlaces } from "../../lib/listen-places.ts";
import type { Log } from "../../lib/log.ts";
import { closeInheritedDescriptors } from "../detached-process/inherited-descriptors.ts";
import { pythonCandidates } from "../set-up/find-python.ts";

/** A handle of Node, for `listen`. */
export interface HeldSocket {
  /** Negative: it is closed. */
  readonly fd: number;
  close(): void;
}

export interface HeldPort {
  readonly sockets: readonly HeldSocket[];
  /** Settles when the holder has stopped, or begun, to answer requests. */
  serve(isServing: boolean): Promise<void>;
  /** Leaves the port to the holder, which ends if no program of a tenant lives. */
  release(): Promise<void>;
}

export interface PortToHold {
  readonly dataDir: string;
  readonly host: string;
  readonly port: number;
  /** A whole HTTP answer, for requests while no server serves. */
  readonly answer: string;
  readonly log: Log;
}

const script = fileURLToPath(new URL("port-holder.py", import.meta.url));
const controlFile = "port-holder.sock";
const restartAfterMs = 1000;
/** Between two attempts to start another one. */
const longestPauseMs = 60_000;
const patienceMs = 10_000;
/** A program that calls itself Python and says nothing for this long is none. */
const startMs = 20_000;

/** Undefined: no Python can be run. Fails with an error of the operating system when the port cannot be had. */
export async function holdPort(plan: PortToHold): Promise<HeldPort | undefined> {
  const first = await startHolder(plan, { descriptors: [], isServing: false });
  return first === undefined ? undefined : new Port(plan, first);
}

/** Ends the holder that an earlier server has left, if there is one. */
export async function endPortHolder(dataDir: string): Promise<void> {
  if (!existsSync(join(dataDir, controlFile))) return;
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
    await this.#holder.ask({ serve: isServing }, "serving");
  }

  async release(): Promise<void> {
    this.#isReleased = true;
    for (const socket of this.sockets) socket.close(); // those of a server that never listened are still open
    await this.#holder.ask({ leave: true }, "stays");
    this.#holder.disconnect();
  }

  /** The sockets are still ours when a holder is killed: another one gets them from us. */
  #watch(): void {
    void this.#holder.ended.then(async () => {
      for (let pauseMs = restartAfterMs; !this.#isReleased; pauseMs = Math.min(2 * pauseMs, longestPauseMs)) {
        this.#plan.log.warn("the process that holds the port has ended; another one is started");
        await delay(pauseMs, undefined, { ref: false });
        const descriptors = this.sockets.map(({ fd }) => fd).filter((fd) => fd >= 0);
        if (this.#isReleased || descriptors.length === 0) return; // the server has closed them: it is about to end
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
  /** Settles with the answer of that name, or when the holder has ended or does not answer. */
  ask(message: object, answer: string): Promise<void>;
  disconnect(): void;
}

interface ServerState {
  /** The sockets that the server has already. */
  readonly descriptors: readonly number[];
  readonly isServing: boolean;
}

/** Undefined: no candidate is a Python that can run it. */
async function startHolder(plan: PortToHold, server: ServerState): Promise<Holder | undefined> {
  const { descriptors, isServing: serving } = server;
  const { host, port, answer } = plan;
  const folder = realpathSync(plan.dataDir);
  const runners = [...new Set([plan.dataDir, folder])].map((path) => join(path, "accounts/"));
  const inherited = descriptors.length;
  const order = { folder, places: listenPlaces(host), port, answer, runners, inherited, serving };
  for (const python of pythonCandidates()) {
    const child = spawnPython(python, "hold", order, ["ignore", "ignore", "ignore", "ipc", ...descriptors]);
    const holder = await untilItHolds(child);
    if (holder !== undefined) return holder;
  }
  return undefined;
}

type Stdio = ("ignore" | "ipc" | number)[];

function spawnPython(python: string, deed: "hold" | "end", order: object, stdio: Stdio): ChildProcess {
  closeInheritedDescriptors();
  const env = { PATH: process.env["PATH"] ?? "/usr/bin:/bin" };
  // Isolated and without site packages: it starts faster, and no file of another user is imported.
  const options = { cwd: "/", env, stdio, detached: true };
  const child = spawn(python, ["-I", "-S", script, deed, JSON.stringify(order)], options);
  return child.on("error", () => undefined); // `exitOf` tells one that cannot be started
}

/** Null: it could not be started. */
async function exitOf(child: ChildProcess): Promise<number | null> {
  try {
    const [code] = (await once(child, "exit")) as [number | null]; // as documented
    return code;
  } catch {
    return null;
  }
}

/** Undefined: it ended without a word or took too long, so it is no Python or too old a one. */
async function untilItHolds(child: ChildProcess): Promise<Holder | undefined> {
  const sockets: HeldSocket[] = [];
  const ended = exitOf(child);
  const told = new Promise<unknown>((settle) => {
    child.on("message", (message, handle) => {
      if (handle !== undefined) sockets.push(handle as unknown as HeldSocket); // as a Native one, whose type Node hides
      if ("holds" in Object(message) || "failed" in Object(message)) settle(message);
    });
  });
  const said = await Promise.race([told, ended, delay(startMs, undefined, { ref: false })]);
  if (typeof said !== "object" || said === null) {
    child.kill("SIGKILL");
    return undefined;
  }
  if ("failed" in said) throw listenError(said.failed);
  child.unref();
  child.channel?.unref();
  return {
    sockets,
    ended,
    async ask(message, answer) {
      const answered = answerOf(child, answer);
      if (child.connected) child.send(message, () => undefined); // one that ends now is noticed by its end
      // The timer keeps our process alive meanwhile: the holder does not, and the rest of a stop would be left out.
      const over = new AbortController();
      const late = delay(patienceMs, undefined, { signal: over.signal }).catch(() => undefined);
      await Promise.race([answered, ended, late]);
      over.abort();
    },
    disconnect() {
      if (child.connected) child.disconnect();
    },
  };
}

function answerOf(child: ChildProcess, name: string): Promise<void> {
  return new Promise((settle) => {
    const onMessage = (message: unknown): void => {
      if (!(name in Object(message))) return;
      child.off("message", onMessage);
      settle();
    };
    child.on("message", onMessage);
  });
}

/** As Node's own `listen` fails. */
function listenError(failure: unknown): Error {
  const { code, address, message } = Object(failure) as Record<string, unknown>;
  return Object.assign(new Error(`listen ${String(code)}: ${String(message)}`), { code, address, syscall: "listen" });
}
