import { commandFiles } from "./command-files.ts";
import { commandJobs, type CommandJobs } from "./command-jobs.ts";
import type { WithCommandFiles } from "./command-text.ts";
import { followerPlaces, type FollowerPlaces } from "./follower-places.ts";
import { resultPublisher, type ResultPublisher } from "./publish-result.ts";
import type { AccountStorage } from "./read-script.ts";

/** What the operations need that tell what came of a command: logs, results, jobs. */
export interface OutcomeServices extends WithCommandFiles {
  commandJobs: CommandJobs;
  followerPlaces: FollowerPlaces;
  resultPublisher: ResultPublisher;
}

export function outcomeServices(dataDir: string, storage: AccountStorage): OutcomeServices {
  const commandFilesOf: WithCommandFiles["commandFilesOf"] = (accountId, commandId) =>
    commandFiles(dataDir, accountId, commandId);
  return {
    commandFilesOf,
    commandJobs: commandJobs(commandFilesOf),
    followerPlaces: followerPlaces(),
    resultPublisher: resultPublisher(storage),
  };
}
