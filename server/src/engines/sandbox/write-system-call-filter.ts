import { createHash } from "node:crypto";
import { chmodSync, existsSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { systemCallFilter } from "./system-call-filter.ts";

/**
 * Writes the filter for this machine into the first writable folder. The users of programs must be able to traverse it,
 * because bubblewrap runs as one of them. Returns the file; undefined: there is no filter for the architecture.
 */
export function writeSystemCallFilter(
  folders: readonly string[],
  architecture: string = process.arch,
): string | undefined {
  const filter = systemCallFilter(architecture);
  if (filter === undefined) return undefined;
  const hash = createHash("sha256").update(filter).digest("hex").slice(0, 12);
  const files = folders.map((folder) => join(folder, `system-calls-${architecture}-${hash}.bpf`));
  const failures: unknown[] = [];
  for (const file of files) {
    try {
      writeOnce(file, filter);
      return file;
    } catch (error) {
      failures.push(error); // a shared cache may belong to another user
    }
  }
  throw failures[0];
}

function writeOnce(file: string, content: Buffer): void {
  if (existsSync(file)) return;
  const next = `${file}.${process.pid}`;
  writeFileSync(next, content);
  chmodSync(next, 0o644); // whatever the umask is
  renameSync(next, file);
}
