import type { CommandFiles } from "../command-files.ts";
import { filePart, type TextPart } from "../command-text.ts";
import type { UnpublishedAttempt } from "../store/publishing.ts";

/** One object of the account's storage that comes of a command. */
export interface Publication {
  readonly name: string;
  readonly content: TextPart;
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
  { attempt, hasResult }: Pick<UnpublishedAttempt, "attempt" | "hasResult">,
): Promise<Publication[]> {
  const { log, output } = files.attempt(attempt);
  const named: [string, TextPart | undefined][] = [[logName(attempt), await filePart(log)]];
  if (hasResult) named.push([RESULT_NAME, await filePart(output)]);
  return named.flatMap(([name, content]) => (content === undefined || content.size === 0 ? [] : [{ name, content }]));
}

/** Below the storage location it is the command's `path`. */
export function publishedPath({ id, accountId, createdAt }: PublishedCommand, name: string): string {
  return `/tmp/${createdAt.toISOString().slice(0, 10)}/${accountId}/${id}/${name}`;
}
