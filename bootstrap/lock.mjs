import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { identityOf, isAlive, pidOf } from "./process-identity.mjs";

/**
 * Allows one installation at a time, and is released when its holder dies. Node has no file locks. A lock file that
 * others may remove after its owner's death could be removed too late, when it already belongs to the next owner.
 * Therefore this is Lamport's bakery algorithm: each process writes only files with its own name, takes a number above
 * all others, and has the lock when no live process has a lower number. Files of dead processes can be removed at any
 * time, because names are never reused.
 *
 *   <identity>.choosing   is choosing a number
 *   <identity>.<number>   waits for the lock or holds it
 *   <identity>.child      the npm that the holder started: if the holder was killed, it must end first
 */
export class InstallLock {
  constructor(dir) {
    this.dir = dir;
    this.identity = identityOf(process.pid);
  }

  /** Calls `onWait` once with the pid of the process that it waits for. */
  async acquire(onWait) {
    mkdirSync(this.dir, { recursive: true });
    this.#write("choosing", "");
    const number = 1 + Math.max(0, ...this.#entries().map((entry) => entry.number));
    this.#write(String(number), "");
    this.#remove("choosing");
    for (let reported = false; ; reported = true) {
      const ahead = await this.#findAhead(number);
      if (ahead === null) return;
      if (!reported) onWait(pidOf(ahead));
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

  async #findAhead(number) {
    for (const entry of this.#entries()) {
      if (entry.identity === this.identity) continue;
      if (!isAlive(entry.identity)) await this.#removeDead(entry);
      else if (entry.kind === "choosing") return entry.identity;
      else if (entry.number > 0 && before(entry, { number, identity: this.identity })) return entry.identity;
    }
    return null;
  }

  /** Also kills an npm that outlived its holder, because it still writes into node_modules. */
  async #removeDead({ name, kind }) {
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
    if (error.code === "ENOENT") return ""; // another waiting process has removed it
    throw error;
  }
}
