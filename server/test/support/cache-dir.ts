import { homedir } from "node:os";
import { readConfig } from "../../src/config.ts";
import { repositoryDir } from "./repository-dir.ts";

/** The cache that a server started here would use, so that every test run shares what was fetched or built once. */
export function testCacheDir(): string {
  const { HEADGATE_CACHE_DIR, XDG_CACHE_HOME } = process.env;
  const env = { HEADGATE_CACHE_DIR, XDG_CACHE_HOME, HOME: homedir() };
  return readConfig(env, { repositoryDir, isRoot: process.getuid?.() === 0, readFile: () => "" }).cacheDir;
}
