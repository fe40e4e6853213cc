import { closeSync, readdirSync, readFileSync } from "node:fs";

const closeOnExec = 0o2000000;
let closed = false;

/**
 * Closes inherited descriptors that a child process would inherit again. Node marks inherited descriptors close-on-exec
 * only up to the first gap above 15. A pipe of our parent would stay open in detached processes, and its reader would
 * wait for them. Works only on Linux.
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
    return false; // the descriptor that listed the folder is already closed
  }
}
