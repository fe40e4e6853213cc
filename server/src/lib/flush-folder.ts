import { open } from "node:fs/promises";

/** The names of new files, and renames, last when their folder is on the disk. Holds up nobody else. */
export async function flushFolder(path: string): Promise<void> {
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
