/** Tools such as pip and Ivy show their progress only on a terminal, so it is derived from the files that they write. */
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";

export interface WrittenFile {
  readonly path: string;
  readonly bytes: number;
}

const pollEveryMs = 500;

/** Reports all files below a folder, twice a second, until the returned function is called. */
export function watchFolder(folder: string, report: (files: readonly WrittenFile[]) => void): () => void {
  let isReading = false;
  let isStopped = false;
  const poll = async (): Promise<void> => {
    if (isReading) return; // a busy disk
    isReading = true;
    const files = await listFiles(folder);
    isReading = false;
    if (files !== undefined && !isStopped) report(files);
  };
  const timer = setInterval(() => void poll(), pollEveryMs);
  return () => {
    isStopped = true;
    clearInterval(timer);
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
