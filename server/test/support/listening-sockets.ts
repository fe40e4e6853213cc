import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { listProcessLinks } from "../../src/lib/process-table.ts";

/** The sockets of the server and its children; those of other users only if we may inspect them. */
export async function listeningSockets(serverPid: number): Promise<{ ports: number[]; abstractSockets: string[] }> {
  const all = await listProcessLinks();
  const pids = new Set([serverPid]);
  for (let before = 0; before < pids.size;) {
    before = pids.size;
    for (const { pid, parentPid } of all) if (pids.has(parentPid)) pids.add(pid);
  }
  const sockets = new Set([...pids].flatMap(socketsOf));
  const lines = (name: string): string[][] =>
    readFileSync(`/proc/net/${name}`, "utf8")
      .split("\n")
      .map((line) => line.trim().split(/\s+/));
  const LISTEN = "0A";
  const ports = [...lines("tcp"), ...lines("tcp6")]
    .filter(([, , , state, , , , , , inode]) => state === LISTEN && sockets.has(inode ?? ""))
    .map(([, address = ""]) => Number.parseInt(address.split(":")[1] ?? "", 16));
  const abstractSockets = lines("unix")
    .filter(([, , , , , , inode, path = ""]) => path.startsWith("@") && sockets.has(inode ?? ""))
    .map(([, , , , , , , path = ""]) => path);
  return { ports, abstractSockets };
}

function socketsOf(pid: number): string[] {
  const folder = `/proc/${pid}/fd`;
  const names = orNothing(() => readdirSync(folder));
  const targets = names.flatMap((name) => orNothing(() => [readlinkSync(join(folder, name))]));
  return targets.flatMap((target) => /^socket:\[(\d+)\]$/.exec(target)?.[1] ?? []);
}

/** Empty for a process that has ended, a closed descriptor, or another user's process. */
function orNothing(read: () => string[]): string[] {
  try {
    return read();
  } catch {
    return [];
  }
}
