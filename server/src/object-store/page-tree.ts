/**
 * Pages of a listing in the byte order of whole paths, for stores whose folders have entries in any order. Of each folder
 * it holds only the names that the page can need. One page reads a limited number of entries, because they are compared in
 * the thread that serves all requests.
 */
import { compareUtf8 } from "../lib/compare-utf8.ts";
import type { ObjectStat, PageOptions } from "./object-store.ts";
import { ObjectStoreError } from "./object-store-error.ts";

export interface TreeEntry {
  readonly kind: "file" | "folder";
  readonly name: string;
  /** Undefined: `OpenedFolder.stat` reads it. */
  readonly stat?: ObjectStat;
}

export interface OpenedFolder {
  entries(): AsyncIterable<readonly TreeEntry[]>;
  /** Undefined: the entry is not a file, or it is gone. */
  stat(name: string): Promise<ObjectStat | undefined>;
  close(): Promise<void>;
}

/** `path` is empty, or ends with a slash. Undefined: there is no such folder. */
export type OpenFolder = (path: string) => Promise<OpenedFolder | undefined>;

export interface TreePage {
  readonly files: (ObjectStat & { readonly path: string })[];
  readonly prefixes: string[];
  readonly hasMore: boolean;
}

/** Deeper than any program needs. The files in deeper folders are left out. */
const MAX_DEPTH = 256;
/** The most entries that are read for one page. */
export const MAX_PAGE_ENTRIES = 1_000_000;
export const TOO_MANY_ENTRIES = "TOO_MANY_ENTRIES";
/** If a folder has many empty folders, more of its names are held at a time, so that it is not read too often. */
const GROWTH = 8;

interface Found {
  /** With a slash at the end if it is a folder, so that `a.b` comes before what is in `a`. */
  readonly path: string;
  readonly entry: TreeEntry;
}

type Options = PageOptions & { readonly prefix: string };

export async function pageOfTree(open: OpenFolder, options: Options): Promise<TreePage> {
  const walk = new Walk(open, options);
  await walk.collect(options.prefix.slice(0, options.prefix.lastIndexOf("/") + 1), 0);
  return walk.page();
}

class Walk {
  readonly #open: OpenFolder;
  readonly #options: Options;
  /** In order, and at most one more than the page shows. */
  readonly #found: (string | TreePage["files"][number])[] = [];

  #read = 0;

  constructor(open: OpenFolder, options: Options) {
    this.#open = open;
    this.#options = options;
  }

  page(): TreePage {
    const shown = this.#found.slice(0, this.#options.limit);
    return {
      files: shown.filter((each) => typeof each !== "string"),
      prefixes: shown.filter((each) => typeof each === "string"),
      hasMore: this.#found.length > shown.length,
    };
  }

  get #missing(): number {
    return this.#options.limit + 1 - this.#found.length;
  }

  async collect(path: string, depth: number): Promise<void> {
    let last: string | undefined;
    for (let batch = this.#missing; this.#missing > 0; batch *= GROWTH) {
      const { found, end } = await this.#next(path, last, batch);
      for (const each of found) {
        if (this.#missing <= 0) return;
        if (typeof each !== "string") this.#found.push(each);
        else if (this.#options.delimiter !== undefined && each.startsWith(this.#options.prefix)) this.#found.push(each);
        else if (depth < MAX_DEPTH) await this.collect(each, depth + 1);
      }
      if (end === undefined) return;
      last = end;
    }
  }

  /** The next entries of a folder in order: files, and the paths of folders. `end`: where to continue. */
  async #next(path: string, last: string | undefined, count: number) {
    const folder = await this.#open(path);
    if (folder === undefined) return { found: [], end: undefined };
    try {
      const smallest = new Smallest(count);
      for await (const entries of folder.entries()) {
        this.#options.signal?.throwIfAborted();
        this.#read += entries.length;
        if (this.#read > MAX_PAGE_ENTRIES) throw tooMany();
        for (const entry of entries) {
          const found = { path: `${path}${entry.name}${entry.kind === "folder" ? "/" : ""}`, entry };
          if (this.#isWanted(found) && (last === undefined || compareUtf8(found.path, last) > 0)) smallest.add(found);
        }
      }
      const found: (string | TreePage["files"][number])[] = [];
      for (const { path: name, entry } of smallest.sorted()) {
        if (entry.kind === "folder") {
          found.push(name);
          continue;
        }
        const stat = entry.stat ?? (await folder.stat(entry.name));
        if (stat !== undefined) found.push({ ...stat, path: name });
      }
      return { found, end: smallest.hasAll ? undefined : smallest.sorted().at(-1)?.path };
    } finally {
      await folder.close();
    }
  }

  #isWanted({ path, entry }: Found): boolean {
    const { prefix, after, delimiter } = this.#options;
    const isAfter = after === undefined || compareUtf8(path, after) > 0;
    if (entry.kind === "file") return path.startsWith(prefix) && isAfter;
    return path.startsWith(prefix) && (isAfter || (delimiter === undefined && after.startsWith(path)));
  }
}

function tooMany(): ObjectStoreError {
  return new ObjectStoreError("too-large", "the folders have too many entries", { code: TOO_MANY_ENTRIES });
}

/** The first entries in order of any number. */
class Smallest {
  readonly #count: number;
  #kept: Found[] = [];
  #seen = 0;

  constructor(count: number) {
    this.#count = count;
  }

  get hasAll(): boolean {
    return this.#seen <= this.#count;
  }

  add(found: Found): void {
    this.#seen += 1;
    this.#kept.push(found);
    if (this.#kept.length >= 2 * this.#count + 1000) this.#shorten();
  }

  sorted(): readonly Found[] {
    this.#shorten();
    return this.#kept;
  }

  #shorten(): void {
    this.#kept = this.#kept.sort((one, other) => compareUtf8(one.path, other.path)).slice(0, this.#count);
  }
}
