import { spawn } from "node:child_process";
import { join } from "node:path";

/** A process that looks like the runner of a program of the data directory in the process table. */
export function pretendRunner(dataDir: string): { end(): void } {
  const script = ["-c", "sleep 600; :", "/x/runner.mjs", join(dataDir, "accounts/1/commands/1/attempts/1")];
  const child = spawn("/bin/sh", script, { stdio: "ignore", detached: true });
  return {
    end() {
      const { pid, exitCode, signalCode } = child;
      if (pid !== undefined && exitCode === null && signalCode === null) process.kill(-pid, "SIGKILL"); // and its `sleep`
    },
  };
}
