import type { CommandFiles } from "../execution/command-files.ts";
import type { LocalResults } from "../results/command-result.ts";
import type { UnpublishedAttempt } from "../store/publishing.ts";
import { filePart } from "../output/text-part.ts";
import { logName, RESULT_NAME } from "../output/published-text.ts";
import { textContent, type Content } from "../results/content.ts";

/** One object of the account's storage that comes of a command. */
export interface Publication {
  readonly name: string;
  readonly content: Content;
}

/** What of an ended attempt belongs into the storage. What is empty, or not kept any more, does not. */
export async function publicationsOf(
  files: CommandFiles,
  attempt: UnpublishedAttempt,
  results: LocalResults,
): Promise<Publication[]> {
  const log = await filePart(files.attempt(attempt.attempt).log);
  const result = attempt.hasResult ? await results.of(attempt) : undefined;
  const named: [string, Content | undefined][] = [
    [logName(attempt.attempt), log === undefined ? undefined : textContent(log)],
    [RESULT_NAME, result?.content],
  ];
  return named.flatMap(([name, content]) => (content === undefined || content.isEmpty ? [] : [{ name, content }]));
}
