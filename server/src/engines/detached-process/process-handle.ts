import { findProcessLinks, readBootId } from "../../lib/process-table.ts";

/**
 * Identifies a process uniquely, even after a restart of our server: a pid alone is reused. Stored as JSON. After a
 * reboot, the processes of all earlier handles are gone.
 */
export interface ProcessHandle {
  readonly bootId: string;
  readonly pid: number;
  /** Opaque; unique together with the pid until the next reboot. */
  readonly startTime: string;
}

export function parseProcessHandle(value: unknown): ProcessHandle | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { bootId, pid, startTime } = value as Partial<Record<keyof ProcessHandle, unknown>>; // checked below
  if (typeof bootId !== "string" || typeof startTime !== "string") return undefined;
  // To kill(2), 0 and negative numbers are process groups; 1 is init.
  if (typeof pid !== "number" || !Number.isSafeInteger(pid) || pid < 2) return undefined;
  return { bootId, pid, startTime };
}

/** A zombie, another process with the same pid, and a process from before a reboot count as gone. */
export async function findProcess(handle: ProcessHandle): Promise<"running" | "gone"> {
  if (handle.bootId !== (await readBootId())) return "gone";
  const found = await findProcessLinks(handle.pid);
  return found?.startTime === handle.startTime ? "running" : "gone";
}
