/**
 * Places a program of ours in the cache, with its Node and its packages. If the server is root, its processes run as other
 * users, who often can read neither the server's sources nor its Node. Besides, an upgrade must not change the files of a
 * running process. The code is compiled in advance, because stripping types and compiling take most of the time that a
 * small program needs to start.
 */
import { createHash } from "node:crypto";
import { constants, existsSync } from "node:fs";
import { copyFile, cp, mkdir, readdir, readFile, rm, stat, symlink, utimes, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { pathToFileURL } from "node:url";
import { DAY_MS } from "../../lib/clock.ts";
import { Fault } from "../../lib/fault.ts";
import { makeFinishedFolder, withSetUpLock } from "../set-up/finished-folder.ts";
import { mustRun, otherUsersCanRun, runTool } from "../set-up/run-tool.ts";
import type { SetUpContext } from "../set-up/set-up-step.ts";
import { followImports, type ProgramFiles } from "./follow-imports.ts";

export interface ProgramSource {
  /** The name of the program, for its folder. */
  readonly name: string;
  /** The name in messages to users. */
  readonly title: string;
  /** The file that is run. */
  readonly entry: string;
  /** The folder that contains all of our own files that it imports. */
  readonly root: string;
  /** Options of Node. Node does not use compiled code with other options than it was compiled with. */
  readonly nodeOptions: readonly string[];
}

export interface PlacedProgram {
  /** The command line; arguments of the program follow. */
  readonly argv: readonly string[];
  /** All users can read these folders. */
  readonly folders: readonly string[];
  /** The folder of the compiled code, for `NODE_COMPILE_CACHE`. */
  readonly compiled: string;
}

/** Changes when the same sources are placed differently. */
const LAYOUT = 1;
const UNUSED_DAYS = 30;

export async function placeProgram(source: ProgramSource, context: SetUpContext): Promise<PlacedProgram> {
  const { cacheDir, signal, progress } = context;
  const files = await followImports(source.entry);
  const nodeFolder = join(cacheDir, `node-${process.version}-${(await stat(process.execPath)).size}`);
  const folder = join(cacheDir, `${source.name}-${digestOf(files, source)}`);
  const compiled = join(folder, "compiled");
  const node = [join(nodeFolder, "bin/node"), ...source.nodeOptions];
  const placed = (path: string): string => placedPath(folder, path, source.root);
  const placedFiles = { modules: modulesOf(files).map(placed), entries: [...files.entries].map(placed) };
  if (!existsSync(nodeFolder) || !existsSync(compiled)) {
    const onWait = (): void => progress({ text: `Waiting for another process that places ${source.title}` });
    await withSetUpLock(join(cacheDir, `${source.name}.lock`), signal, onWait, async () => {
      progress({ text: `Placing ${source.title} in ${folder}` });
      await placeNode(nodeFolder);
      await makeFinishedFolder(folder, (unfinished) => fillFolder(unfinished, files, source.root));
      await makeFinishedFolder(compiled, (unfinished) => compile(unfinished, node, placedFiles));
    });
  }
  await pruneUnused(
    cacheDir,
    [nodeFolder, folder],
    new RegExp(String.raw`^(?:node-v[\d.]+-\d+|${source.name}-[0-9a-f]+)$`),
  );
  return {
    argv: [...node, placed(source.entry)],
    folders: [nodeFolder, folder],
    compiled,
  };
}

function digestOf({ sources, packages }: ProgramFiles, { root, nodeOptions }: ProgramSource): string {
  const hash = createHash("sha256").update(JSON.stringify([LAYOUT, process.version, nodeOptions]));
  for (const [path, text] of byKey(sources)) hash.update(JSON.stringify([relative(root, path), text]));
  for (const [name, { version }] of byKey(packages)) hash.update(JSON.stringify([name, version]));
  return hash.digest("hex").slice(0, 12);
}

function byKey<T>(map: ReadonlyMap<string, T>): [string, T][] {
  return [...map].toSorted(([one], [other]) => (one < other ? -1 : 1));
}

function placedPath(folder: string, path: string, root: string): string {
  return join(folder, "src", relative(root, path));
}

async function placeNode(folder: string): Promise<void> {
  if (existsSync(folder)) return;
  await makeFinishedFolder(folder, async (unfinished) => {
    await mkdir(join(unfinished, "bin"));
    await copyFile(process.execPath, join(unfinished, "bin/node"), constants.COPYFILE_FICLONE);
  });
  if (await otherUsersCanRun([join(folder, "bin/node"), "--version"])) return;
  await rm(folder, { recursive: true, force: true });
  throw new Fault(
    "unavailable",
    `other users cannot run Node in ${dirname(folder)}: set HEADGATE_CACHE_DIR to a folder that they can read`,
  );
}

async function fillFolder(folder: string, { sources, packages }: ProgramFiles, root: string): Promise<void> {
  await writeFile(join(folder, "package.json"), '{ "type": "module" }\n');
  for (const [path, text] of sources) {
    const target = placedPath(folder, path, root);
    await mkdir(dirname(target), { recursive: true });
    await writeFile(target, text);
  }
  for (const [name, { folder: from }] of packages) {
    await cp(from, join(folder, "node_modules", name), { recursive: true, filter: (path) => !NOT_RUN.test(path) });
  }
}

/** Types, maps and documentation. */
const NOT_RUN = /\.(?:d\.[cm]?ts|ts|map|md)$/;

function modulesOf({ sources, entries }: ProgramFiles): string[] {
  return [...sources.keys()].filter((path) => !entries.has(path));
}

interface PlacedFiles {
  readonly modules: readonly string[];
  readonly entries: readonly string[];
}

const COMPILE_LIMIT_MS = 60_000;

/**
 * Loads all files once in their final place, because Node finds compiled code by the path of its file. Entry files are run
 * and fail, because they get no arguments.
 */
async function compile(cache: string, node: readonly string[], { modules, entries }: PlacedFiles): Promise<void> {
  const urls = modules.map((path) => pathToFileURL(path).href);
  const script = `for (const each of ${JSON.stringify(urls)}) await import(each);`;
  const env = { PATH: "/usr/bin:/bin", NODE_COMPILE_CACHE: cache };
  const options = { env, cwd: "/", timeoutMs: COMPILE_LIMIT_MS };
  await mustRun("the compilation of a program", [...node, "--input-type=module", "--eval", script], options);
  for (const entry of entries) await runTool([...node, entry], options);
  const [ours] = await readdir(cache); // named after Node, its options and the user
  if (ours !== undefined) await writeFile(join(cache, NAME_FILE), ours);
}

const NAME_FILE = "name";

/** Lets the processes of a user find the compiled code. Best effort: without it they only start more slowly. */
export async function shareCompiled({ compiled }: PlacedProgram, uid: number): Promise<void> {
  try {
    const ours = await readFile(join(compiled, NAME_FILE), "utf8");
    const theirs = ours.replace(/-\d+$/, `-${uid}`);
    if (theirs !== ours && !existsSync(join(compiled, theirs))) await symlink(ours, join(compiled, theirs));
  } catch {
    // Another process has created the link, or the cache is not writable.
  }
}

/**
 * Marks the program as used, so that other versions of the server do not remove it. Returns false if it is gone. Call it
 * daily as long as the program may be run.
 */
export async function markUsed({ folders }: Pick<PlacedProgram, "folders">): Promise<boolean> {
  const now = new Date();
  const marks = await Promise.allSettled(folders.map((folder) => utimes(folder, now, now)));
  return !marks.some(({ status }, at) => status === "rejected" && !existsSync(folders[at] ?? ""));
}

async function pruneUnused(cacheDir: string, used: readonly string[], pattern: RegExp): Promise<void> {
  await markUsed({ folders: used });
  const before = Date.now() - UNUSED_DAYS * DAY_MS;
  for (const name of await readdir(cacheDir)) {
    const path = join(cacheDir, name);
    if (!pattern.test(name) || used.includes(path)) continue;
    const found = await stat(path).catch(() => undefined);
    if (found?.isDirectory() === true && found.mtimeMs < before) await rm(path, { recursive: true, force: true });
  }
}
