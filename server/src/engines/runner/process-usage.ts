/** The resources of one process according to proc(5). */
export interface ProcessUsage {
  /** Session id in the process's own pid namespace. */
  readonly session: number;
  readonly threads: number;
  /** Private memory and memory shared with other processes of the run; pages of files are not counted. */
  readonly memoryBytes: number;
}

/** Parses /proc/<pid>/status. A zombie has no lines about memory. */
export function parseStatusFile(text: string): ProcessUsage {
  return {
    session: field(text, "NSsid"),
    threads: field(text, "Threads"),
    memoryBytes: (field(text, "RssAnon") + field(text, "RssShmem") + field(text, "VmSwap")) * 1024,
  };
}

export interface ProportionalUse {
  readonly privateBytes: number;
  readonly sharedMemoryBytes: number;
}

/** Parses /proc/<pid>/smaps_rollup, where a page that n processes share counts 1/n for each. */
export function parseRollup(text: string): ProportionalUse {
  return {
    privateBytes: (field(text, "Pss_Anon") + field(text, "SwapPss")) * 1024,
    sharedMemoryBytes: field(text, "Pss_Shmem") * 1024,
  };
}

function field(text: string, name: string): number {
  const at = text.indexOf(`\n${name}:`);
  return at < 0 ? 0 : Number.parseInt(text.slice(at + name.length + 2, at + name.length + 32), 10) || 0;
}
