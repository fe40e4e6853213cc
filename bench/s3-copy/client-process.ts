import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, readFileSync, readSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** A command line of a client. */
export interface ClientCommand {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

export interface Measurement {
  readonly wallSeconds: number;
  /** User and system time of the command and all its descendants. */
  readonly cpuSeconds: number;
  /** The largest resident memory of one process. */
  readonly peakMiB: number;
}

const wrapper = fileURLToPath(new URL("measure-child.py", import.meta.url));
const SHOWN_BYTES = 2000;

/** Runs clients one after the other and measures them. Their output goes to files, which do not slow them down. */
export class ClientRunner {
  readonly #result: string;
  readonly stdout: string;
  readonly stderr: string;
  #running: number | undefined;
  #isClosed = false;

  constructor(folder: string) {
    this.#result = join(folder, "measured.json");
    this.stdout = join(folder, "stdout");
    this.stderr = join(folder, "stderr");
  }

  /** Fails unless the command ends with the expected exit code. */
  async run({ argv, env }: ClientCommand, expectedCode = 0): Promise<Measurement> {
    if (this.#isClosed) throw new Error("the benchmark was interrupted");
    const child = spawn("python3", [wrapper, this.#result, this.stdout, this.stderr, ...argv], {
      env: { PATH: process.env.PATH ?? "", HOME: process.env.HOME ?? "", TMPDIR: tmpdir(), ...env },
      stdio: ["ignore", "ignore", "inherit"],
      detached: true, // a group of its own, so that `close` reaches the client as well
    });
    this.#running = child.pid;
    const [code] = (await once(child, "exit")) as [number | null];
    this.#running = undefined;
    if (this.#isClosed) throw new Error("the benchmark was interrupted");
    if (code !== 0) throw new Error(`${argv.join(" ")}: the command could not be started`);
    const { exitCode, ...measured } = JSON.parse(readFileSync(this.#result, "utf8")) as Measurement & {
      exitCode: number; // written by the wrapper
    };
    if (exitCode !== expectedCode) {
      throw new Error(
        `${argv.join(" ")} ended with ${exitCode}:\n${endOf(this.stderr)}\n${endOf(this.stdout)}`.trimEnd(),
      );
    }
    return measured;
  }

  /** Kills the running client. No other can be started afterwards. */
  close(): void {
    this.#isClosed = true;
    if (this.#running !== undefined) process.kill(-this.#running, "SIGKILL");
  }
}

function endOf(path: string): string {
  const { size } = statSync(path);
  const descriptor = openSync(path, "r");
  try {
    const bytes = Buffer.alloc(Math.min(size, SHOWN_BYTES));
    readSync(descriptor, bytes, 0, bytes.length, size - bytes.length);
    return bytes.toString("utf8");
  } finally {
    closeSync(descriptor);
  }
}
