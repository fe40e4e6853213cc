import { spawn, type ChildProcess, type StdioOptions } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { basename } from "node:path";
import { Fault } from "../../lib/fault.ts";
import { spawnIdentity, type UnprivilegedUser } from "./unprivileged-user.ts";

/** Our own environment has secrets and settings (`PG…`, `LC_…`) that must not reach PostgreSQL. */
const cleanEnvironment = { PATH: "/usr/bin:/bin", LC_ALL: "C", TZ: "UTC" };

interface ProgramOptions {
  readonly user: UnprivilegedUser | undefined;
  readonly stdio: StdioOptions;
  readonly detached?: boolean;
}

/** Resolves when the program runs. Node reports some spawn failures by an event and throws others. */
export async function spawnProgram(
  file: string,
  args: readonly string[],
  { user, stdio, detached = false }: ProgramOptions,
): Promise<ChildProcess> {
  try {
    // Starts in the root folder: the program's user may not be able to enter ours.
    const child = spawn(file, args, { cwd: "/", env: cleanEnvironment, stdio, detached, ...spawnIdentity(user) });
    await once(child, "spawn");
    return child;
  } catch (error) {
    throw explainSpawnError(error, file);
  }
}

/** Runs one of PostgreSQL's programs to its end; secrets go to its standard input. */
export async function runProgram(
  file: string,
  args: readonly string[],
  user: UnprivilegedUser | undefined,
  input = "",
): Promise<void> {
  const child = await spawnProgram(file, args, { user, stdio: "pipe" });
  const closed = once(child, "close") as Promise<[number | null, NodeJS.Signals | null]>;
  let output = "";
  const collect = (chunk: Buffer): void => {
    output = (output + chunk.toString("utf8")).slice(-4000);
  };
  child.stdout?.on("data", collect);
  child.stderr?.on("data", collect);
  // A program that ends early closes its input; its exit status is more useful than the broken pipe.
  child.stdin?.on("error", () => undefined);
  child.stdin?.end(input);
  const [code, signal] = await closed;
  if (code === 0) return;
  throw new Fault("internal", `${basename(file)} failed (${code ?? signal}): ${lastLines(output)}`);
}

function explainSpawnError(error: unknown, file: string): Fault {
  const details = { cause: error };
  const code = error instanceof Error && "code" in error ? String(error.code) : "unknown reason";
  if (code === "EPERM") {
    const message =
      "PostgreSQL does not run as root, and this process cannot switch to another user (CAP_SETUID, CAP_SETGID): " +
      "start Headgate as an unprivileged user, or set DATABASE_URL";
    return new Fault("invalid", message, details);
  }
  // The file exists but its loader does not: it was built for another C library.
  if (code === "ENOENT" && existsSync(file)) {
    return new Fault(
      "invalid",
      "the embedded PostgreSQL needs glibc: set DATABASE_URL to a PostgreSQL server",
      details,
    );
  }
  return new Fault("internal", `${file} cannot be run (${code})`, details);
}

export function lastLines(text: string): string {
  return text.trim().split("\n").slice(-5).join("\n");
}
