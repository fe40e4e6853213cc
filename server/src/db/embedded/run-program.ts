import { spawn, type ChildProcess } from "node:child_process";
import { existsSync } from "node:fs";
import { basename } from "node:path";
import { Fault } from "../../lib/fault.ts";
import { spawnIdentity, type UnprivilegedUser } from "./unprivileged-user.ts";

/** Ours holds secrets and settings (`PG…`, `LC_…`) that are none of PostgreSQL's business. */
export const cleanEnvironment = { PATH: "/usr/bin:/bin", LC_ALL: "C", TZ: "UTC" };

/** Runs one of PostgreSQL's programs to its end; what it has to be told in secret goes to its standard input. */
export async function runProgram(
  file: string,
  args: readonly string[],
  user: UnprivilegedUser | undefined,
  input = "",
): Promise<void> {
  const child = spawn(file, args, {
    cwd: "/",
    env: cleanEnvironment,
    stdio: ["pipe", "pipe", "pipe"],
    ...spawnIdentity(user),
  });
  let output = "";
  const collect = (chunk: Buffer): void => {
    output = (output + chunk.toString("utf8")).slice(-4000);
  };
  child.stdout.on("data", collect);
  child.stderr.on("data", collect);
  // A program that ends early closes its input; its exit status says more than our broken pipe.
  child.stdin.on("error", () => undefined);
  child.stdin.end(input);
  const status = await waitForClose(child, file);
  if (status === 0) return;
  throw new Fault("internal", `${basename(file)} failed (${status}): ${lastLines(output)}`);
}

async function waitForClose(child: ChildProcess, file: string): Promise<number | string> {
  return new Promise((settle, fail) => {
    child.once("error", (error) => fail(explainSpawnError(error, file)));
    child.once("close", (code, signal) => settle(code ?? signal ?? "unknown"));
  });
}

export function explainSpawnError(error: NodeJS.ErrnoException, file: string): Fault {
  const details = { cause: error };
  if (error.code === "EPERM") {
    const message =
      "PostgreSQL does not run as root, and this process may not change its user (CAP_SETUID, CAP_SETGID): " +
      "start Headgate as a plain user, or set DATABASE_URL";
    return new Fault("invalid", message, details);
  }
  // The file is there but its loader is not: built for another C library.
  if (error.code === "ENOENT" && existsSync(file)) {
    return new Fault("invalid", "the PostgreSQL of Headgate needs glibc: set DATABASE_URL to a server", details);
  }
  return new Fault("internal", `${file} cannot be run (${error.code ?? error.message})`, details);
}

export function lastLines(text: string): string {
  return text.trim().split("\n").slice(-5).join("\n");
}
