/** Tools such as pip and Ivy show their progress only on a terminal, so it is derived from the files that they write. */
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";

export interface WrittenFile {
  readonly path: string;
  readonly bytes: number;
}

const MIN_PAUSE_MS = 500;
/** Pauses are at least this many times as long as the last reading, so that thousands of files do not keep the server busy. */
const PAUSE_FACTOR = 20;

/** Reports all files below a folder, at most twice a second, until the returned function is called. */
export function watchFolder(folder: string, report: (files: readonly WrittenFile[]) => void): () => void {
  let isStopped = false;
  const poll = async (): Promise<void> => {
    const startMs = performance.now();
    const files = await listFiles(folder);
    if (isStopped) return;
    timer = pollAfter(Math.max(MIN_PAUSE_MS, PAUSE_FACTOR * (performance.now() - startMs)));
    if (files !== undefined) report(files);
  };
  const pollAfter = (ms: number): NodeJS.Timeout => setTimeout(() => void poll(), ms);
  let timer = pollAfter(MIN_PAUSE_MS);
  return () => {
    isStopped = true;
    clearTimeout(timer);
  };
}

export function totalBytes(files: readonly WrittenFile[]): number {
  return files.reduce((sum, { bytes }) => sum + bytes, 0);
}

/** Files come and go meanwhile; one that is gone counts as empty. Undefined: a folder went while it was read. */
async function listFiles(folder: string): Promise<WrittenFile[] | undefined> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => undefined);
  if (entries === undefined) return undefined;
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return Promise.all(
    paths.map(async (path) => ({
      path,
      bytes: await stat(path).then(
        ({ size }) => size,
        () => 0,
      ),
    })),
  );
}
