import { join } from "node:path";
import type { Database } from "../db/database.ts";
import { findResult } from "../engines/arrow-result/spool-result.ts";
import { DAY_MS, type Clock } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";
import { measureTree, removeTree } from "../processes/tree-removal/remove-tree.ts";
import { commandFiles, type AttemptFiles } from "./execution/command-files.ts";
import { textSizeFile } from "./results/result-source.ts";
import { statementsFile } from "./sql/statement-jobs.ts";
import { listEndedBefore, type EndedCommand } from "./store/outcome.ts";
import { fileStore } from "../object-store/file/file-store.ts";
import { pruneFolders } from "../object-store/file/folder.ts";
import { ObjectStoreError } from "../object-store/object-store-error.ts";
import { type PublishedCommand, RESULT_NAME, logName, publishedPath } from "./output/command-text.ts";

export interface FileRetention {
  readonly resultsDays: number;
  readonly logsDays: number;
  /** The size of the files of all ended commands on this node. */
  readonly sizeBytes: number;
}

export interface PrunerOptions {
  readonly db: Database;
  readonly clock: Clock;
  readonly dataDir: string;
  readonly log: Log;
}

/** Ends are not stored in their exact order, so the last minute is left for the next run. */
const SETTLED_MS = 60_000;
const BATCH = 200;
/** A walk ends after as many failures one after the other, because the reason is then not a single folder. */
const MAX_FAILURES_IN_A_ROW = 20;

/**
 * Removes the files of commands that ended long ago from this node: by age, and the oldest ones when all files together are
 * too large. Each run continues where the last one stopped; only the first run after a start walks through the whole
 * history, in small steps.
 */
export function filePruner(
  options: PrunerOptions,
  { resultsDays, logsDays, sizeBytes }: FileRetention,
): () => Promise<void> {
  const { clock, dataDir } = options;
  let keptBytes = 0;
  const filesOf = ({ accountId, id }: EndedCommand) => commandFiles(dataDir, accountId, id);
  const attemptsOf = (command: EndedCommand): AttemptFiles[] =>
    Array.from({ length: command.attempt }, (_, index) => filesOf(command).attempt(index + 1));
  const remove = async (paths: readonly string[]): Promise<void> => {
    for (const path of paths) {
      const bytes = await measureTree(path);
      await removeTree(path);
      keptBytes -= bytes;
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

  const measure = walk(options, async (command) => {
    keptBytes += await measureTree(filesOf(command).folder);
    keptBytes += await copies.size(command, allNames(command));
  });
  const dropResults = walk(options, async (command) => {
    for (const attempt of attemptsOf(command)) await remove(await resultFiles(attempt));
    await removeCopies(command, RESULT_NAMES);
  });
  const dropLogs = walk(options, async (command) => {
    await remove(
      attemptsOf(command).flatMap(({ folder, log, eventLogFolder }) => [log, eventLogFolder, statementsFile(folder)]),
    );
    await removeCopies(command, logNames(command.attempt));
  });
  const dropOld = walk(options, removeAll);
  const dropLarge = walk(options, removeAll, () => keptBytes > sizeBytes);

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

/** The output of a program, the rows of a query, or the report of a copy with the rows that were made of it. */
async function resultFiles({ folder, output, report }: AttemptFiles): Promise<string[]> {
  const rows = await findResult(folder);
  const printed = [output, report];
  return rows === undefined ? printed : [...printed, rows.dataFile, rows.indexFile, textSizeFile(folder)];
}

/**
 * Visits commands in the order of their end, each call after the last command of the previous one, while `goesOn`. A
 * command that cannot be visited does not keep the others from it, and comes first in the next call.
 */
function walk(
  { db, log }: PrunerOptions,
  visit: (command: EndedCommand) => Promise<void>,
  goesOn: () => boolean = () => true,
): (before: Date) => Promise<void> {
  let after: EndedCommand | undefined;
  const failed: EndedCommand[] = [];
  /** Returns how many of them it visited, successfully or not. */
  const visitAll = async (commands: readonly EndedCommand[]): Promise<number> => {
    let failures = 0;
    for (const [index, command] of commands.entries()) {
      if (!goesOn() || failures === MAX_FAILURES_IN_A_ROW) return index;
      try {
        await visit(command);
        failures = 0;
      } catch (error) {
        log.warn({ err: error, command: command.id }, "files of a command could not be pruned; trying again later");
        failed.push(command);
        failures += 1;
      }
    }
    return commands.length;
  };
  return async (before) => {
    const again = failed.splice(0);
    failed.push(...again.slice(await visitAll(again)));
    for (;;) {
      if (!goesOn()) return;
      const ended = await listEndedBefore(db.system, before, after, BATCH);
      const visited = await visitAll(ended);
      after = ended[visited - 1] ?? after;
      if (visited < BATCH) return;
    }
  };
}

/**
 * Published results and logs in the local folder of an account without external storage. They are removed together with
 * the files of their command; nothing is removed from external storage. Programs of the account can change the folder,
 * so no link in it is followed, and copies that they have changed are ignored.
 */
interface LocalCopies {
  /** Their size in bytes. */
  size(command: PublishedCommand, names: readonly string[]): Promise<number>;
  /** Returns the bytes that were removed. */
  remove(command: PublishedCommand, names: readonly string[]): Promise<number>;
}

function localCopies(dataDir: string): LocalCopies {
  const rootOf = ({ accountId }: PublishedCommand): string => join(dataDir, "accounts", String(accountId), "storage");
  const uriOf = (command: PublishedCommand, name: string): string =>
    `file://${rootOf(command)}${publishedPath(command, name)}`;
  const sizeOf = async (command: PublishedCommand, name: string): Promise<number> => {
    const { size } = await fileStore({ rootDir: rootOf(command) }).stat(uriOf(command, name));
    return size;
  };
  return {
    async size(command, names) {
      let all = 0;
      for (const name of names) all += await unlessChanged(() => sizeOf(command, name));
      return all;
    },
    async remove(command, names) {
      let taken = 0;
      for (const name of names) {
        taken += await unlessChanged(async () => {
          const size = await sizeOf(command, name);
          await fileStore({ rootDir: rootOf(command) }).delete(uriOf(command, name));
          return size;
        });
      }
      await pruneFolders(rootOf(command), publishedPath(command, "").split("/").slice(1, -1));
      return taken;
    },
  };
}

const RESULT_NAMES: readonly string[] = [RESULT_NAME];

function logNames(lastAttempt: number): string[] {
  return Array.from({ length: lastAttempt }, (_, index) => logName(index + 1));
}

async function unlessChanged(work: () => Promise<number>): Promise<number> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ObjectStoreError) return 0;
    throw error;
  }
}
