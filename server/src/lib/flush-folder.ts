import { open } from "node:fs/promises";

/** Flushes a folder to disk, so that new files and renames in it survive a power cut. Does not block the event loop. */
export async function flushFolder(path: string): Promise<void> {
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
