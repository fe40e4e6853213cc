import { rmdir } from "node:fs/promises";
import { Folder } from "./folder.ts";

/**
 * Removes these nested folders from the innermost one outwards, as long as they are empty, because an object store has no
 * empty folders. Links are not followed.
 */
export async function pruneFolders(rootDir: string, names: readonly string[]): Promise<void> {
  const opened: Folder[] = [];
  try {
    let folder = await Folder.openRoot(rootDir);
    opened.push(folder);
    for (const name of names.slice(0, -1)) {
      folder = await folder.enter(name);
      opened.push(folder);
    }
    for (const [at, name] of [...names.entries()].toReversed()) await rmdir(opened[at]?.entry(name) ?? "");
  } catch {
    // Already gone, a link, or not empty.
  } finally {
    await Promise.all(opened.map((folder) => folder.close()));
  }
}
