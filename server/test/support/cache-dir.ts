import { homedir } from "node:os";
import { readConfig } from "../../src/config.ts";
import { repositoryDir } from "./repository-dir.ts";

/** The cache of a server that is started from this checkout, so that all test runs share downloads and builds. */
export function testCacheDir(): string {
  const { HEADGATE_CACHE_DIR, XDG_CACHE_HOME } = process.env;
  const env = { HEADGATE_CACHE_DIR, XDG_CACHE_HOME, HOME: homedir() };
  return readConfig(env, { repositoryDir, isRoot: process.getuid?.() === 0, readFile: () => "" }).cacheDir;
}
