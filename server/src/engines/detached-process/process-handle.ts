import { findProcessLinks, readBootId } from "../../lib/process-table.ts";

/**
 * Names one process for ever, also after our own restart: a pid alone is given to strangers once it is free. Kept as
 * JSON. After the machine was started again every earlier handle is of a process that is gone.
 */
export interface ProcessHandle {
  readonly bootId: string;
  readonly pid: number;
  /** Opaque; together with the pid unique as long as the machine runs. */
  readonly startTime: string;
}

export function parseProcessHandle(value: unknown): ProcessHandle | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { bootId, pid, startTime } = value as Partial<Record<keyof ProcessHandle, unknown>>; // each is checked below
  if (typeof bootId !== "string" || typeof startTime !== "string") return undefined;
  // 0 and negative numbers mean whole groups to kill(2), 1 is never ours.
  if (typeof pid !== "number" || !Number.isSafeInteger(pid) || pid < 2) return undefined;
  return { bootId, pid, startTime };
}

/** A zombie, another process with the pid, and whatever ran before the machine's last start count as gone. */
export async function findProcess(handle: ProcessHandle): Promise<"running" | "gone"> {
  if (handle.bootId !== (await readBootId())) return "gone";
  const found = await findProcessLinks(handle.pid);
  return found?.startTime === handle.startTime ? "running" : "gone";
}
