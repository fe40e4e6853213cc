import type { Database } from "../db/database.ts";
import type { Log } from "../lib/log.ts";
import { commandFiles } from "./execution/command-files.ts";
import { commandJobs, type CommandJobs } from "./results/command-jobs.ts";
import { commandTexts, type CommandFilesOf, type WithCommandTexts } from "./output/command-text.ts";
import { followerPlaces, type FollowerPlaces } from "./follow-log.ts";
import type { CommandKinds } from "./kinds/command-kinds.ts";
import { otherNodes, type WithOtherNodes } from "./output/other-nodes.ts";
import { publishedText } from "./output/published-text.ts";
import { resultLocator, type LocateResult } from "./publishing/locate-result.ts";
import type { PlaceOptions } from "./publishing/place.ts";
import type { NodeWatch } from "./queue/node-watch.ts";
import { Publisher } from "./publishing/publisher.ts";
import { openUploads } from "./publishing/uploads.ts";
import type { WithResults } from "./results/command-result.ts";
import { commandResults, localResults, type ResultSourceOf } from "./results/result-source.ts";

/** What the operations need that tell what came of a command: logs, results, jobs. */
export interface OutcomeServices extends WithCommandTexts, WithResults, WithOtherNodes {
  commandJobs: CommandJobs;
  followerPlaces: FollowerPlaces;
  locateResult: LocateResult;
  publisher: Publisher;
}

export interface OutcomeOptions extends PlaceOptions {
  readonly dataDir: string;
  readonly db: Database;
  /** For what no request waits for. */
  readonly background: Database;
  readonly nodeId: string;
  readonly nodeWatch: Pick<NodeWatch, "isSilent">;
  readonly log: Log;
  readonly commandKinds: Pick<CommandKinds, "of">;
}

export function outcomeServices(options: OutcomeOptions): OutcomeServices {
  const { dataDir, db, background, nodeId, nodeWatch, log, commandKinds, ...places } = options;
  const commandFilesOf: CommandFilesOf = (accountId, commandId) => commandFiles(dataDir, accountId, commandId);
  const uploads = openUploads();
  const isSilent = (id: string): boolean => nodeWatch.isSilent(id);
  const nodes = otherNodes({ db: db.system, ownId: nodeId, isSilent, log });
  const texts = commandTexts({ commandFilesOf, nodes, published: publishedText(places.storage) });
  const sourceOf: ResultSourceOf = (command) => commandKinds.of(command).results;
  const results = localResults(commandFilesOf, sourceOf);
  return {
    otherNodes: nodes,
    commandTexts: texts,
    commandResults: commandResults(results, sourceOf, texts, nodes),
    commandJobs: commandJobs(commandFilesOf, (command) => commandKinds.of(command).jobs),
    followerPlaces: followerPlaces(),
    locateResult: resultLocator(places, uploads),
    publisher: new Publisher({ db: background.system, nodeId, places, uploads, commandFilesOf, results, log }),
  };
}
