import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";

/**
 * Unlike a pid, an identity (`<pid>-<start time>`) is never reused. Null for a process that is gone or a zombie.
 */
export function identityOf(pid) {
  const started = process.platform === "linux" ? startedOnLinux(pid) : startedByPs(pid);
  return started === null ? null : `${pid}-${started}`;
}

export function isAlive(identity) {
  return identityOf(pidOf(identity)) === identity;
}

export function pidOf(identity) {
  return Number.parseInt(identity, 10);
}

function startedOnLinux(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The name in parentheses may contain anything. The state is the first field after it, the start time the 20th.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    if (fields[0] === "Z" || fields[0] === "X") return null;
    const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").slice(0, 8);
    return `${boot}-${fields[19]}`;
  } catch (error) {
    if (error.code === "ENOENT" || error.code === "ESRCH") return null;
    throw error;
  }
}

function startedByPs(pid) {
  const { stdout } = spawnSync("ps", ["-o", "stat=,lstart=", "-p", String(pid)], {
    encoding: "utf8",
    env: { ...process.env, LC_ALL: "C" },
  });
  const [state = "", ...started] = (stdout || "").trim().split(/\s+/);
  return state === "" || state.startsWith("Z") ? null : started.join("_").replaceAll(":", "");
}
