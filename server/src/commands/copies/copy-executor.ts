import { existsSync } from "node:fs";
import { join } from "node:path";
import type { AccountStorage } from "../../accounts/contract.ts";
import { limitsWithin } from "../../processes/runner/allowance.ts";
import { openRunnerClient } from "../../processes/runner/runner-client.ts";
import { writeInput } from "../../processes/sandbox/confined-folders.ts";
import type { Sandbox } from "../../processes/sandbox/sandbox.ts";
import { Fault } from "../../lib/fault.ts";
import { accountIdentity, commandFiles, makeAttempt, tidyAttempt } from "../execution/command-files.ts";
import { confineRun, foldersInside } from "../execution/confine-run.ts";
import type { CommandRun, Executor } from "../execution/executor.ts";
import { type PreparedProcess, type RunnerOptions, runLimitsOf } from "../execution/runner-run.ts";
import { nodeOfFirstAttempt } from "../store/copies.ts";
import type { CopyJournals } from "./copy-journals.ts";
import type { CopyProgram } from "./copy-program.ts";
import { shortenReport } from "./copy-report.ts";
import { waitForEarlierAttempts } from "./earlier-attempts.ts";
import { BUFFER_MIB, copyRequest, type RequestServices } from "./copy-request.ts";
import { CopyRun, type CopyRunServices, REQUEST_FILE } from "./copy-run.ts";

export interface CopyExecutorOptions extends RunnerOptions, RequestServices, CopyRunServices {
  readonly storage: Pick<AccountStorage, "settings" | "noteKeysWork">;
  readonly sandbox: Sandbox;
  readonly program: CopyProgram;
  readonly journals: CopyJournals;
  readonly nodeId: string;
}

/** For Node itself, its threads, listings, plans, connections, and buffers that are not collected yet. */
const PROCESS_MIB = 256;
export const COPY_MEMORY_MIB = PROCESS_MIB + BUFFER_MIB;

const REMEDY = "Submit the command again with another destination, or remove what it has copied and submit it again";

/** Runs copies under detached runners, as programs run. */
export function copyExecutor(options: CopyExecutorOptions): Executor {
  const { program, journals } = options;
  return {
    localState: { description: "the journal of the copy", remedy: REMEDY },
    unready: () => program.unready(),
    async prepare(run, signal) {
      const prepared = await prepareCopy(run, options, signal);
      return { spawn: () => Promise.resolve(new CopyRun(run, options, prepared)) };
    },
    adopt: (run) => Promise.resolve(new CopyRun(run, options, undefined)),
    async tidy({ command, files }) {
      if (existsSync(files.folder)) openRunnerClient(files.folder).abandon();
      await tidyAttempt(files);
      if (existsSync(files.report)) await shortenReport(files.report);
      await journals.settle(command);
    },
  };
}

async function prepareCopy(
  run: CommandRun,
  options: CopyExecutorOptions,
  signal: AbortSignal,
): Promise<PreparedProcess> {
  const { sandbox, program, journals, allowance } = options;
  const { command, files } = run;
  await checkJournalIsHere(run, options);
  await waitForEarlierAttempts(commandFiles(options.dataDir, command.accountId, command.id), run.attempt, signal);
  const identity = accountIdentity(command.accountId);
  const launch = await program.launch(identity?.uid);
  const inside = foldersInside(sandbox, files.folder);
  const journal = journals.pathOf(command);
  const journalFolder = sandbox.kind === "bubblewrap" ? "/headgate/copy" : journal;
  const request = await copyRequest(options, command.id, { journalFolder, scratchFolder: inside.work });
  const folders = await makeAttempt(files.folder, { accountId: command.accountId, identity, home: inside.work });
  await journals.open(command, run.attempt === 1);
  await writeInput(folders.input, { [REQUEST_FILE]: JSON.stringify(request) }, identity);
  const resources = limitsWithin(allowance, COPY_MEMORY_MIB);
  const argv = [...launch.argv, join(inside.input, REQUEST_FILE)];
  const writable = [{ path: journal, at: journalFolder }];
  return {
    kind: "program",
    program: confineRun(sandbox, { ...launch, argv, writable }, { folders, inside, identity, resources }),
    limits: runLimitsOf(run, options, resources, files.report),
  };
}

/**
 * A later attempt continues what earlier ones have begun, and only the journal distinguishes that from other files at the
 * destination. The journal stays on the node of the first attempt. The queue lets no other node claim the next attempt;
 * this is for commands whose first attempt ran on a node of an earlier version, which does not say so.
 */
async function checkJournalIsHere(
  { command, attempt }: CommandRun,
  { db, nodeId }: CopyExecutorOptions,
): Promise<void> {
  if (attempt === 1) return;
  const first = await nodeOfFirstAttempt(db, command.id);
  if (first === null || first === nodeId) return;
  throw new Fault(
    "invalid",
    `the copy cannot continue here: the journal of the first attempt is on node ${first}. ${REMEDY}`,
  );
}
