import { Fault } from "../../lib/fault.ts";

/** Whether programs of different accounts are kept apart on this machine; `app` knows. */
export interface ProgramIsolation {
  readonly isolated: boolean;
  /** The operators' account. */
  firstAccountId(): Promise<number | undefined>;
}

export interface WithProgramIsolation {
  isolation: ProgramIsolation;
}

/** Where nothing isolates programs, one could read what belongs to another account: only the operators' may run any. */
export async function checkMayRunPrograms(
  isolation: ProgramIsolation,
  accountId: number,
  commandType: string,
): Promise<void> {
  if (isolation.isolated || accountId === (await isolation.firstAccountId())) return;
  throw new Fault(
    "invalid",
    `command_type ${commandType} cannot run for this account: nothing isolates programs on this machine. An operator ` +
      "installs bubblewrap, or sets HEADGATE_ISOLATION=none and so lets accounts read each other's files.",
  );
}
