import { sandboxLimits } from "../../processes/runner/allowance.ts";
import type { ResourceLimits } from "../../processes/runner/protocol.ts";
import type { ProgramToRun } from "../../processes/runner/runner-client.ts";
import type { Identity, ShownFolder } from "../../processes/sandbox/confined-program.ts";
import type { Sandbox } from "../../processes/sandbox/sandbox.ts";
import { programFolders, type ProgramFolders } from "./command-files.ts";

/** The folders of an attempt, as its process sees them. */
export interface FoldersInside {
  /** The current folder, writable. */
  readonly work: string;
  /** Read-only. */
  readonly input: string;
  readonly eventLogFolder: string;
}

/**
 * The paths at which a process sees its folders. In a sandbox they are the same for every process, so that a standby driver
 * sees the same paths as a driver that was started for its program, and no program sees the paths of the server.
 */
export function foldersInside({ kind }: Sandbox, folder: string): FoldersInside {
  const { work, input, events } = programFolders(kind === "bubblewrap" ? "/headgate" : folder);
  return { work, input, eventLogFolder: events };
}

/** The process of an attempt. */
export interface Launch {
  readonly argv: readonly string[];
  /** The whole environment. */
  readonly env: Readonly<Record<string, string>>;
  /** Paths that it must see besides its own folders and the system's programs. */
  readonly readOnly: readonly string[];
  readonly writable?: readonly ShownFolder[];
}

interface Confinement {
  readonly folders: ProgramFolders;
  readonly inside: FoldersInside;
  readonly identity: Identity | undefined;
  readonly resources: ResourceLimits;
}

export function confineRun(
  sandbox: Sandbox,
  { argv, env, readOnly, writable = [] }: Launch,
  { folders, inside, identity, resources }: Confinement,
): ProgramToRun {
  return sandbox.confine({
    argv,
    env,
    cwd: inside.work,
    readOnly: [...readOnly, { path: folders.input, at: inside.input }],
    writable: [
      { path: folders.work, at: inside.work },
      { path: folders.events, at: inside.eventLogFolder },
      folders.storage,
      ...writable,
    ],
    tmpFolder: folders.tmp,
    userFolder: folders.user,
    identity,
    ...sandboxLimits(resources),
  });
}
