import type { Database } from "../db/database.ts";
import type { Log } from "../lib/log.ts";
import { commandFiles } from "./command-files.ts";
import { commandJobs, type CommandJobs } from "./command-jobs.ts";
import type { WithCommandFiles } from "./command-text.ts";
import { followerPlaces, type FollowerPlaces } from "./follower-places.ts";
import { resultLocator, type LocateResult } from "./publishing/locate-result.ts";
import type { PlaceOptions } from "./publishing/place.ts";
import { Publisher } from "./publishing/publisher.ts";
import { openUploads } from "./publishing/uploads.ts";

/** What the operations need that tell what came of a command: logs, results, jobs. */
export interface OutcomeServices extends WithCommandFiles {
  commandJobs: CommandJobs;
  followerPlaces: FollowerPlaces;
  locateResult: LocateResult;
  publisher: Publisher;
}

export interface OutcomeOptions extends PlaceOptions {
  readonly dataDir: string;
  readonly db: Database;
  readonly nodeId: string;
  readonly log: Log;
}

export function outcomeServices({ dataDir, db, nodeId, log, ...places }: OutcomeOptions): OutcomeServices {
  const commandFilesOf: WithCommandFiles["commandFilesOf"] = (accountId, commandId) =>
    commandFiles(dataDir, accountId, commandId);
  const uploads = openUploads();
  return {
    commandFilesOf,
    commandJobs: commandJobs(commandFilesOf),
    followerPlaces: followerPlaces(),
    locateResult: resultLocator(places, uploads),
    publisher: new Publisher({ db: db.system, nodeId, places, uploads, commandFilesOf, log }),
  };
}
