export interface Identity {
  readonly uid: number;
  readonly gid: number;
}

/** Seen under the same path, or `at` another: it holds the folder itself, wherever that is moved to meanwhile. */
export type ShownFolder = string | { readonly path: string; readonly at: string };

export interface ProgramToConfine {
  /** The program's file as seen from inside, then its arguments. */
  readonly argv: readonly string[];
  /** All the program gets. Values may be secret: they never stand in a command line. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  /** A folder deeper than another one decides for itself. */
  readonly readOnly: readonly ShownFolder[];
  readonly writable: readonly ShownFolder[];
  /** Becomes /tmp. On disk, because a file system in memory would be memory that nobody counts. */
  readonly tmpFolder: string;
  /** Where `writeUserFiles` has put passwd and the like. */
  readonly userFolder: string;
  /** The real user the program runs as. Needed as root, impossible otherwise: then it is undefined, our own. */
  readonly identity: Identity | undefined;
  readonly openFiles?: number;
  /** Processes and threads that it may have; absent or null: no limit of its own. */
  readonly tasks?: number | null;
  /** The size of its /dev/shm; absent or null: as large as the kernel makes it. Without bubblewrap: the machine's own. */
  readonly sharedMemoryBytes?: number | null;
}

/** What to start. Nothing of it may be merged with an environment of ours. */
export interface ConfinedProgram {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly identity: Identity | undefined;
  /** What the program must find on descriptor 3, in a file only we can read; undefined: nothing. */
  readonly descriptor3: string | undefined;
}
