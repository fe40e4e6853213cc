export interface Identity {
  readonly uid: number;
  readonly gid: number;
}

/** Visible under the same path, or under `at`. The mount follows the folder even if it is moved later. */
export type ShownFolder = string | { readonly path: string; readonly at: string };

export interface ProgramToConfine {
  /** The program's path inside the sandbox, then its arguments. */
  readonly argv: readonly string[];
  /** The whole environment. Values may be secret and never appear in a command line. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  /** A folder inside another one has its own permission. */
  readonly readOnly: readonly ShownFolder[];
  readonly writable: readonly ShownFolder[];
  /** Mounted as /tmp. It is on disk, because no limit would count the memory of a tmpfs. */
  readonly tmpFolder: string;
  /** The folder of `writeUserFiles`. */
  readonly userFolder: string;
  /** The real user of the program. Required if the server is root; otherwise undefined, the server's own user. */
  readonly identity: Identity | undefined;
  readonly openFiles?: number;
  /** Maximum number of processes and threads; absent or null: no limit. */
  readonly tasks?: number | null;
  /**
   * The size of its /dev/shm; absent or null: the kernel's default. Without bubblewrap it uses the machine's /dev/shm.
   */
  readonly sharedMemoryBytes?: number | null;
}

/** The process to start. Its environment must not be merged with the server's. */
export interface ConfinedProgram {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly identity: Identity | undefined;
  /** The content of descriptor 3, to be stored in a file that only the server can read; undefined: none. */
  readonly descriptor3: string | undefined;
}
