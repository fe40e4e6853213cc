import { readFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { Fault } from "../../lib/fault.ts";

/** Everything that a program of ours loads. */
export interface ProgramFiles {
  /** Our own files: their texts by path. */
  readonly sources: ReadonlyMap<string, string>;
  /** The files that are run and not imported: the program itself and its worker threads. */
  readonly entries: ReadonlySet<string>;
  /** npm packages, with those that they depend on, by name. */
  readonly packages: ReadonlyMap<string, NpmPackage>;
}

export interface NpmPackage {
  readonly folder: string;
  readonly version: string;
}

/**
 * Follows the imports of a program from its first file on. Type imports are left out, because they vanish when types are
 * stripped.
 */
export async function followImports(entry: string): Promise<ProgramFiles> {
  const sources = new Map<string, string>();
  const entries = new Set([entry]);
  const packages = new Map<string, NpmPackage>();
  const waiting = [entry];
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (sources.has(path)) continue;
    const text = await readFile(path, "utf8");
    sources.set(path, text);
    for (const { kind, specifier } of readImports(text)) {
      if (specifier.startsWith("node:")) continue;
      const isFile = kind === "url" || specifier.startsWith(".");
      if (!isFile) {
        await addPackage(packageName(specifier), dirname(path), packages);
        continue;
      }
      const file = resolve(dirname(path), specifier);
      waiting.push(file);
      if (kind === "url") entries.add(file);
    }
  }
  return { sources, entries, packages };
}

interface Import {
  readonly kind: "import" | "url";
  readonly specifier: string;
}

/** This project's formatter leaves only these forms of imports. */
const STATIC = /^(?:import|export)\s+(?!type\b)(?:[^"'();]*?\sfrom\s+)?"([^"]+)"/gm;
const DYNAMIC = /\bimport\(\s*"([^"]+)"\s*\)/g;
const URL_OF_FILE = /\bnew URL\(\s*"([^"]+)",\s*import\.meta\.url\s*\)/g;

export function readImports(text: string): Import[] {
  const found = (pattern: RegExp, kind: Import["kind"]): Import[] =>
    [...text.matchAll(pattern)].map(([, specifier = ""]) => ({ kind, specifier }));
  return [...found(STATIC, "import"), ...found(DYNAMIC, "import"), ...found(URL_OF_FILE, "url")];
}

function packageName(specifier: string): string {
  return specifier
    .split("/")
    .slice(0, specifier.startsWith("@") ? 2 : 1)
    .join("/");
}

async function addPackage(name: string, from: string, packages: Map<string, NpmPackage>): Promise<void> {
  if (packages.has(name)) return;
  const { folder, version, dependencies } = await findPackage(name, from);
  packages.set(name, { folder, version });
  for (const needed of dependencies) await addPackage(needed, folder, packages);
}

/** Searches like Node: in `node_modules` of the folder and of its parents. */
async function findPackage(name: string, from: string): Promise<NpmPackage & { dependencies: string[] }> {
  for (let folder = from; ; folder = dirname(folder)) {
    const found = join(folder, "node_modules", name);
    const text = await readFile(join(found, "package.json"), "utf8").catch(() => undefined);
    if (text !== undefined) {
      const manifest = JSON.parse(text) as { version?: unknown; dependencies?: object }; // npm has checked it
      return {
        folder: found,
        version: String(manifest.version),
        dependencies: Object.keys(manifest.dependencies ?? {}),
      };
    }
    if (folder === dirname(folder)) {
      throw new Fault("unavailable", `the package ${name} is not installed: run npm install`);
    }
  }
}
