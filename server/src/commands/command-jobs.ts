import type { SparkJob } from "../engines/spark-submit/event-log-progress.ts";
import { EventLogReader, type EventLogState } from "../engines/spark-submit/event-log.ts";
import type { WithCommandFiles } from "./command-text.ts";
import type { CommandOutcome } from "./store/outcome.ts";

/** The Spark jobs of commands, read from their event logs. */
export interface CommandJobs {
  of(command: Pick<CommandOutcome, "id" | "accountId" | "attempt">): Promise<readonly SparkJob[]>;
}

interface Followed {
  readonly reader: EventLogReader;
  underWay: Promise<EventLogState> | undefined;
}

/** So many logs are followed from where they were left; another is read anew. */
const FOLLOWED_AT_MOST = 20;

/** Event logs can be large and are asked for again and again: each is read once, by one reader for all who ask. */
export function commandJobs(commandFilesOf: WithCommandFiles["commandFilesOf"]): CommandJobs {
  const followed = new Map<string, Followed>();
  return {
    async of({ id, accountId, attempt }) {
      if (attempt === 0) return [];
      const path = commandFilesOf(accountId, id).attempt(attempt).eventLog;
      const log = followed.get(path) ?? { reader: new EventLogReader(path), underWay: undefined };
      // Anew, so that it is the last to be forgotten.
      followed.delete(path);
      followed.set(path, log);
      for (const oldest of followed.keys()) if (followed.size > FOLLOWED_AT_MOST) followed.delete(oldest);
      log.underWay ??= log.reader.read().finally(() => {
        log.underWay = undefined;
      });
      return (await log.underWay).jobs;
    },
  };
}
