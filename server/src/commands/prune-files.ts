import type { Database } from "../db/database.ts";
import { findResult } from "../engines/arrow-result/spool-result.ts";
import type { Clock } from "../lib/clock.ts";
import { removeTree } from "../lib/remove-tree.ts";
import { treeSize } from "../lib/tree-size.ts";
import { commandFiles, type AttemptFiles } from "./execution/command-files.ts";
import { localCopies, logNames, RESULT_NAMES } from "./publishing/local-copies.ts";
import { textSizeFile } from "./results/table-result.ts";
import { statementsFile } from "./sql/statement-jobs.ts";
import { listEndedBefore, type EndedCommand } from "./store/retention.ts";

export interface FileRetention {
  readonly resultsDays: number;
  readonly logsDays: number;
  /** The size of the files of all ended commands on this node. */
  readonly sizeBytes: number;
}

const DAY_MS = 24 * 3_600_000;
/** Ends are not stored in their exact order, so the last minute is left for the next run. */
const SETTLED_MS = 60_000;
const BATCH = 200;

/**
 * Removes the files of commands that ended long ago from this node: by age, and the oldest ones when all files together are
 * too large. Each run continues where the last one stopped; only the first run after a start walks through the whole
 * history, in small steps.
 */
export function filePruner(
  db: Database,
  clock: Clock,
  dataDir: string,
  { resultsDays, logsDays, sizeBytes }: FileRetention,
): () => Promise<void> {
  let keptBytes = 0;
  const filesOf = ({ accountId, id }: EndedCommand) => commandFiles(dataDir, accountId, id);
  const attemptsOf = (command: EndedCommand): AttemptFiles[] =>
    Array.from({ length: command.attempt }, (_, index) => filesOf(command).attempt(index + 1));
  const remove = async (paths: readonly string[]): Promise<void> => {
    for (const path of paths) {
      keptBytes -= await treeSize(path);
      await removeTree(path);
    }
  };
  const copies = localCopies(dataDir);
  const removeCopies = async (command: EndedCommand, names: readonly string[]): Promise<void> => {
    keptBytes -= await copies.remove(command, names);
  };
  const allNames = ({ attempt }: EndedCommand): string[] => [...RESULT_NAMES, ...logNames(attempt)];
  const removeAll = async (command: EndedCommand): Promise<void> => {
    await remove([filesOf(command).folder]);
    await removeCopies(command, allNames(command));
  };

  const measure = walk(db, async (command) => {
    keptBytes += await treeSize(filesOf(command).folder);
    keptBytes += await copies.size(command, allNames(command));
  });
  const dropResults = walk(db, async (command) => {
    for (const attempt of attemptsOf(command)) await remove(await resultFiles(attempt));
    await removeCopies(command, RESULT_NAMES);
  });
  const dropLogs = walk(db, async (command) => {
    await remove(
      attemptsOf(command).flatMap(({ folder, log, eventLogFolder }) => [log, eventLogFolder, statementsFile(folder)]),
    );
    await removeCopies(command, logNames(command.attempt));
  });
  const dropOld = walk(db, removeAll);
  const dropLarge = walk(db, removeAll, () => keptBytes > sizeBytes);

  return async () => {
    const now = clock.now().getTime();
    const daysAgo = (days: number): Date => new Date(now - days * DAY_MS);
    await measure(new Date(now - SETTLED_MS));
    await dropResults(daysAgo(resultsDays));
    await dropLogs(daysAgo(logsDays));
    await dropOld(daysAgo(Math.max(resultsDays, logsDays)));
    await dropLarge(new Date(now - SETTLED_MS));
  };
}

/** The output of a program, or the rows of a query. */
async function resultFiles({ folder, output }: AttemptFiles): Promise<string[]> {
  const rows = await findResult(folder);
  return rows === undefined ? [output] : [output, rows.dataFile, rows.indexFile, textSizeFile(folder)];
}

/** Visits commands in the order of their end, each call after the last command of the previous one, while `goesOn`. */
function walk(
  db: Database,
  visit: (command: EndedCommand) => Promise<void>,
  goesOn: () => boolean = () => true,
): (before: Date) => Promise<void> {
  let after: EndedCommand | undefined;
  return async (before) => {
    for (;;) {
      if (!goesOn()) return;
      const ended = await listEndedBefore(db.system, before, after, BATCH);
      for (const command of ended) {
        if (!goesOn()) return;
        await visit(command);
        after = command;
      }
      if (ended.length < BATCH) return;
    }
  };
}
