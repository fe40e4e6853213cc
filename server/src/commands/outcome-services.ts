import type { Database } from "../db/database.ts";
import type { Log } from "../lib/log.ts";
import { commandFiles } from "./execution/command-files.ts";
import { commandJobs, type CommandJobs } from "./results/job-source.ts";
import { commandTexts, type CommandFilesOf, type WithCommandTexts, publishedText } from "./output/command-text.ts";
import type { CommandKinds } from "./kinds/command-kinds.ts";
import { otherNodes, type WithOtherNodes } from "./output/other-nodes.ts";
import { resultLocator, type LocateResult } from "./publishing/locate-result.ts";
import { type PublishTargetOptions, openUploads } from "./publishing/uploads.ts";
import type { NodeWatch } from "./queue/heartbeats.ts";
import { Publisher } from "./publishing/publisher.ts";
import type { WithResults } from "./results/command-result.ts";
import { commandResults, localResults, type ResultSourceOf } from "./results/result-source.ts";

/** The services for logs, results and jobs of commands. */
export interface OutcomeServices extends WithCommandTexts, WithResults, WithOtherNodes {
  commandJobs: CommandJobs;
  locateResult: LocateResult;
  publisher: Publisher;
}

export interface OutcomeOptions extends PublishTargetOptions {
  readonly dataDir: string;
  readonly db: Database;
  /** For work that no request waits for. */
  readonly background: Database;
  readonly nodeId: string;
  readonly nodeWatch: Pick<NodeWatch, "isSilent">;
  readonly log: Log;
  readonly commandKinds: Pick<CommandKinds, "of">;
  readonly inlineResultLimitMiB: number;
}

export function outcomeServices(options: OutcomeOptions): OutcomeServices {
  const { dataDir, db, background, nodeId, nodeWatch, log, commandKinds, inlineResultLimitMiB, ...targets } = options;
  const commandFilesOf: CommandFilesOf = (accountId, commandId) => commandFiles(dataDir, accountId, commandId);
  const uploads = openUploads();
  const isSilent = (id: string): boolean => nodeWatch.isSilent(id);
  const nodes = otherNodes({ db: db.system, ownId: nodeId, isSilent, log });
  const texts = commandTexts({ commandFilesOf, nodes, published: publishedText(targets.storage) });
  const sourceOf: ResultSourceOf = (command) => commandKinds.of(command).results;
  const results = localResults(commandFilesOf, sourceOf);
  return {
    otherNodes: nodes,
    commandTexts: texts,
    commandResults: commandResults(results, sourceOf, texts, nodes, inlineResultLimitMiB * 1024 * 1024),
    commandJobs: commandJobs(commandFilesOf, (command) => commandKinds.of(command).jobs),
    locateResult: resultLocator(targets, uploads),
    publisher: new Publisher({ db: background.system, nodeId, targets, uploads, commandFilesOf, results, log }),
  };
}
