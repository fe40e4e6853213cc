import { Fault } from "../../lib/fault.ts";

/** Whether this machine isolates the programs of different accounts from each other. */
export interface ProgramIsolation {
  readonly isolated: boolean;
  /** The operators' account. */
  firstAccountId(): Promise<number | undefined>;
}

export interface WithProgramIsolation {
  isolation: ProgramIsolation;
}

/** Without isolation a program could read the files of other accounts, so only the operators' account may run any. */
export async function checkMayRunPrograms(
  isolation: ProgramIsolation,
  accountId: number,
  commandType: string,
): Promise<void> {
  if (isolation.isolated || accountId === (await isolation.firstAccountId())) return;
  throw new Fault(
    "invalid",
    `command_type ${commandType} cannot run for this account: nothing isolates programs on this machine. An operator ` +
      "can install bubblewrap, or set HEADGATE_ISOLATION=none, which lets accounts read each other's files.",
  );
}
