import { chmodSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { systemCallFilter } from "./system-call-filter.ts";

/**
 * Writes the filter for this machine into a folder that the users of programs can pass, because bubblewrap runs as one of
 * them. Returns the file; undefined: there is no filter for the architecture.
 */
export function writeSystemCallFilter(folder: string, architecture: string = process.arch): string | undefined {
  const filter = systemCallFilter(architecture);
  if (filter === undefined) return undefined;
  const file = join(folder, `system-calls-${architecture}.bpf`);
  const next = `${file}.${process.pid}`;
  writeFileSync(next, filter);
  chmodSync(next, 0o644); // whatever our umask is
  renameSync(next, file);
  return file;
}
