import { homedir } from "node:os";
import { readConfig } from "../../src/config.ts";
import { repositoryDir } from "./repository-dir.ts";

/** The cache that a server started here would use: what is fetched or built into it once serves every run. */
export function testCacheDir(): string {
  const { HEADGATE_CACHE_DIR, XDG_CACHE_HOME } = process.env;
  const env = { HEADGATE_CACHE_DIR, XDG_CACHE_HOME, HOME: homedir() };
  return readConfig(env, { repositoryDir, isRoot: process.getuid?.() === 0, readFile: () => "" }).cacheDir;
}
