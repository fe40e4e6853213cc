import { rmdir } from "node:fs/promises";
import { Folder } from "./folder.ts";

/**
 * Takes away the innermost of these folders, each inside the one before it, if it is empty, then the one around it, and
 * so on: objects have no folders, so none is left behind by them. Links are not followed.
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
    // Gone already, a link, or not empty: what is there stays.
  } finally {
    await Promise.all(opened.map((folder) => folder.close()));
  }
}
