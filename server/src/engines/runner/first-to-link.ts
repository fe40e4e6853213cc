import { linkSync, rmSync, writeFileSync } from "node:fs";

/** Makes a file that appears with its whole content or not at all, unless it is there already: then false. */
export function firstToLink(path: string, text: string): boolean {
  const own = `${path}.${process.pid}`;
  writeFileSync(own, text, { mode: 0o600, flush: true }); // whoever finds it after a power cut can read it
  try {
    return isFirst(() => linkSync(own, path));
  } finally {
    rmSync(own, { force: true });
  }
}

export function isFirst(make: () => void): boolean {
  try {
    make();
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST") return false;
    throw error;
  }
}
