/**
 * The form of an operation in one version of the API, where it differs from the endpoint's own body and reply. A form
 * only translates: access, rules and behaviour are those of the endpoint in every version.
 */
import type { TObject, TSchema } from "typebox";

export interface VersionForm<Reply = unknown> {
  /** For the reference, after the description of the endpoint. */
  description?: string;
  body?: BodyForm;
  reply?: ReplyForm<Reply>;
  /** Instead of `reply`, for paged lists. */
  list?: ListForm<Reply>;
}

export interface BodyForm {
  /** The body as clients send it, for the document. The endpoint's own schema validates the translated fields. */
  schema: TObject;
  /** A body that works as it is. */
  example?: Readonly<Record<string, unknown>>;
  /** Translates a body to the fields of the endpoint's own. Must be pure: a repeated request is translated again. */
  read: (sent: Readonly<Record<string, unknown>>) => TranslatedBody;
}

export interface TranslatedBody {
  readonly fields: Readonly<Record<string, unknown>>;
  /** What the body asks for and the operation does not do, in sentences for the client. */
  readonly warnings: readonly string[];
}

export interface ReplyForm<Reply> {
  schema: TSchema;
  write: (reply: Reply, warnings: readonly string[]) => unknown;
}

/**
 * An array without `paging_info`. It has all entries, unless the query asks for a page. The endpoint's handler gets
 * `afterId` then and reads the entries in batches, in the order of their ids.
 */
export interface ListForm<Reply> {
  /** The schema of an entry. */
  entry: TSchema;
  entries: (reply: Reply) => readonly ListedEntry[];
}

export interface ListedEntry {
  readonly id: number;
  /** The entry as this version shows it. */
  readonly shown: unknown;
}
