import type { Database } from "../../db/database.ts";
import type { Clock } from "../../lib/clock.ts";
import { removeTree } from "../../lib/remove-tree.ts";
import { commandFiles } from "../command-files.ts";
import { listEndedBefore, type EndedCommand } from "../store/retention.ts";

export interface FileRetention {
  readonly resultsDays: number;
  readonly logsDays: number;
}

const DAY_MS = 24 * 3_600_000;
const BATCH = 200;

/**
 * Takes away the files of commands that ended long ago, on the node that has them. It remembers how far it came, so
 * that no run looks at all of the history again; after a restart the first one does, in small steps.
 */
export function fileKeeper(
  db: Database,
  clock: Clock,
  dataDir: string,
  { resultsDays, logsDays }: FileRetention,
): () => Promise<void> {
  const keepers = [
    sweep(resultsDays, ({ output }) => [output]),
    sweep(logsDays, ({ log, eventLogFolder }) => [log, eventLogFolder]),
    sweep(Math.max(resultsDays, logsDays), undefined),
  ];

  function sweep(days: number, pathsOf: ((files: AttemptPaths) => string[]) | undefined) {
    let after: EndedCommand | undefined;
    return async (): Promise<void> => {
      const before = new Date(clock.now().getTime() - days * DAY_MS);
      for (;;) {
        const ended = await listEndedBefore(db.system, before, after, BATCH);
        for (const { id, accountId, attempt } of ended) {
          const files = commandFiles(dataDir, accountId, id);
          const attempts = Array.from({ length: attempt }, (_, index) => files.attempt(index + 1));
          const paths = pathsOf === undefined ? [files.folder] : attempts.flatMap(pathsOf);
          for (const path of paths) await removeTree(path);
        }
        after = ended.at(-1) ?? after;
        if (ended.length < BATCH) return;
      }
    };
  }

  return async () => {
    for (const keep of keepers) await keep();
  };
}

type AttemptPaths = ReturnType<ReturnType<typeof commandFiles>["attempt"]>;
