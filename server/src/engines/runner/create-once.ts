import { closeSync, linkSync, openSync, rmSync, writeFileSync } from "node:fs";

/**
 * Creates a file that appears with its whole content or not at all. Returns false if the file exists already. An empty
 * file needs no space, so it can be created on a full disk too.
 */
export function createOnce(path: string, text: string): boolean {
  if (text === "") return unlessExists(() => closeSync(openSync(path, "wx", 0o600)));
  const own = `${path}.${process.pid}`;
  writeFileSync(own, text, { mode: 0o600, flush: true }); // readable after a power cut too
  try {
    return unlessExists(() => linkSync(own, path));
  } finally {
    rmSync(own, { force: true });
  }
}

function unlessExists(create: () => void): boolean {
  try {
    create();
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST") return false;
    throw error;
  }
}
