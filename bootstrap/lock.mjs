import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { identityOf, isAlive, pidOf } from "./process-identity.mjs";

/**
 * One installation at a time, and the lock dies with its holder. Built-ins have no file locks, and a lock file that
 * others may remove once its owner is dead can be removed a moment too late, when it is already the next one's. So this
 * is Lamport's bakery: each process only writes files of its own name, takes a number above all it sees, and is served
 * when nobody alive has a lower one. Files of the dead can go at any time, because no name comes twice.
 *
 *   <identity>.choosing   is about to take a number
 *   <identity>.<number>   waits, or is served
 *   <identity>.child      the npm that the holder started: if the holder was killed, it must end first
 */
export class InstallLock {
  constructor(dir) {
    this.dir = dir;
    this.identity = identityOf(process.pid);
  }

  /** `onWait` hears once, with its process id, whom this one waits for. */
  async acquire(onWait) {
    mkdirSync(this.dir, { recursive: true });
    this.#write("choosing", "");
    const number = 1 + Math.max(0, ...this.#entries().map((entry) => entry.number));
    this.#write(String(number), "");
    this.#remove("choosing");
    for (let told = false; ; told = true) {
      const ahead = await this.#whoIsAhead(number);
      if (ahead === null) return;
      if (!told) onWait(pidOf(ahead));
      await sleep(100);
    }
  }

  noteChild(pid) {
    this.#write("child", identityOf(pid) || "");
  }

  release() {
    for (const entry of this.#entries()) {
      if (entry.identity === this.identity) rmSync(join(this.dir, entry.name), { force: true });
    }
  }

  async #whoIsAhead(number) {
    for (const entry of this.#entries()) {
      if (entry.identity === this.identity) continue;
      if (!isAlive(entry.identity)) await this.#bury(entry);
      else if (entry.kind === "choosing") return entry.identity;
      else if (entry.number > 0 && before(entry, { number, identity: this.identity })) return entry.identity;
    }
    return null;
  }

  /** An npm that outlived its holder still writes into node_modules. */
  async #bury({ name, kind }) {
    const path = join(this.dir, name);
    const child = kind === "child" ? readIfThere(path) : "";
    if (child !== "" && isAlive(child)) {
      process.kill(-pidOf(child), "SIGKILL");
      while (isAlive(child)) await sleep(20);
    }
    rmSync(path, { force: true });
  }

  #entries() {
    return readdirSync(this.dir).map((name) => {
      const [identity = "", kind = ""] = name.split(".");
      return { name, identity, kind, number: Number.parseInt(kind, 10) || 0 };
    });
  }

  #write(kind, text) {
    writeFileSync(join(this.dir, `${this.identity}.${kind}`), text);
  }

  #remove(kind) {
    rmSync(join(this.dir, `${this.identity}.${kind}`), { force: true });
  }
}

function before(one, other) {
  return one.number < other.number || (one.number === other.number && one.identity < other.identity);
}

function readIfThere(path) {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (error.code === "ENOENT") return ""; // another waiter buried it first
    throw error;
  }
}
