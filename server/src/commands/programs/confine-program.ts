import { sandboxLimits } from "../../engines/runner/allowance.ts";
import type { ResourceLimits } from "../../engines/runner/protocol.ts";
import type { ProgramToRun } from "../../engines/runner/runner-client.ts";
import type { Identity } from "../../engines/sandbox/confined-program.ts";
import type { Sandbox } from "../../engines/sandbox/sandbox.ts";
import { programFolders, type ProgramFolders } from "../execution/attempt-folders.ts";
import type { DriverFolders, DriverLaunch } from "./program-driver.ts";

/**
 * The paths at which a program sees its folders. In a sandbox they are the same for every program, so that a standby driver
 * sees the same paths as a driver that was started for its program, and no program sees the paths of the server.
 */
export function foldersInside({ kind }: Sandbox, folder: string): Omit<DriverFolders, "applicationId"> {
  const { work, input, events } = programFolders(kind === "bubblewrap" ? "/headgate" : folder);
  return { work, input, eventLogFolder: events };
}

export interface ConfinedFolders {
  readonly folders: ProgramFolders;
  readonly inside: Omit<DriverFolders, "applicationId">;
  readonly identity: Identity | undefined;
  readonly resources: ResourceLimits;
}

export function confineProgram(
  sandbox: Sandbox,
  { argv, env, readOnly }: Pick<DriverLaunch, "argv" | "env" | "readOnly">,
  { folders, inside, identity, resources }: ConfinedFolders,
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
    ],
    tmpFolder: folders.tmp,
    userFolder: folders.user,
    identity,
    ...sandboxLimits(resources),
  });
}
