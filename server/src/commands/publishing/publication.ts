import type { CommandFiles } from "../command-files.ts";
import type { LocalResults } from "../results/command-result.ts";
import type { UnpublishedAttempt } from "../store/publishing.ts";
import { filePart } from "../text-part.ts";
import { textContent, type Content } from "./content.ts";

/** One object of the account's storage that comes of a command. */
export interface Publication {
  readonly name: string;
  readonly content: Content;
}

/** Whose storage, and where in it. */
export interface PublishedCommand {
  readonly id: number;
  readonly accountId: number;
  readonly createdAt: Date;
}

export const RESULT_NAME = "results";

/** Each attempt has an object of its own: several nodes may have run them. */
export function logName(attempt: number): string {
  return attempt === 1 ? "logs" : `logs.${attempt}`;
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

/** Below the storage location it is the command's `path`. */
export function publishedPath({ id, accountId, createdAt }: PublishedCommand, name: string): string {
  return `/tmp/${createdAt.toISOString().slice(0, 10)}/${accountId}/${id}/${name}`;
}
