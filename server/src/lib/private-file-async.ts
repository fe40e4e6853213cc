import { randomUUID } from "node:crypto";
import { open, rename, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { flushFolder } from "./flush-folder.ts";

/**
 * Like `writePrivateFile`, without blocking the event loop: on a busy disk a flush takes long. Concurrent writers of
 * the same file are safe.
 */
export async function writePrivateFileAsync(path: string, text: string): Promise<void> {
  const temporary = `${path}.${randomUUID()}.new`;
  const handle = await open(temporary, "wx", 0o600);
  try {
    const there = await stat(path).catch(() => undefined);
    if (there !== undefined) await handle.chown(there.uid, there.gid);
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(temporary, path);
  await flushFolder(dirname(path));
}
