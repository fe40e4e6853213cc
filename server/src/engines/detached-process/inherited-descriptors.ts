import { closeSync, readdirSync, readFileSync } from "node:fs";

const closeOnExec = 0o2000000;
let closed = false;

/**
 * Node opens everything so that no child gets it, and marks what it was born with that way, but only up to the first
 * gap above 15. A pipe of whoever started us would live on in processes that outlive us, and its reader would wait for
 * them. What is not marked was never ours: it is closed, once. Elsewhere than on Linux it cannot be told.
 */
export function closeInheritedDescriptors(): void {
  if (closed || process.platform !== "linux") return;
  closed = true;
  for (const descriptor of readdirSync("/proc/self/fd").map(Number)) {
    if (descriptor > 2 && isInheritable(descriptor)) closeSync(descriptor);
  }
}

function isInheritable(descriptor: number): boolean {
  try {
    const flags = /^flags:\s*(\d+)$/m.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, "utf8"))?.[1];
    return flags !== undefined && (Number.parseInt(flags, 8) & closeOnExec) === 0;
  } catch {
    return false; // the one that listed the folder is closed by now
  }
}
