import { readdir } from "node:fs/promises";

/** The names in it; none where there is no such folder. */
export async function listFolder(path: string): Promise<string[]> {
  return readdir(path).catch(() => []);
}
