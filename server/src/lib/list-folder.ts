import { readdir } from "node:fs/promises";

/** The names in a folder; empty if the folder does not exist. */
export async function listFolder(path: string): Promise<string[]> {
  return readdir(path).catch(() => []);
}
