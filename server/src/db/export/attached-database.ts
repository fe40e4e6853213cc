import type { Client } from "pg";

/** A database that the product keeps beside its own, such as an account's metastore: it goes where the product goes. */
export interface AttachedDatabase {
  /** In the export: lower-case letters, digits and hyphens. */
  readonly name: string;
  /** As whoever owns its tables. The caller ends the connection. */
  connect(): Promise<Client>;
}

/** Makes an empty one for an import, which fails when there is one with something in it. */
export type AttachDatabase = (name: string, product: Client) => Promise<NewDatabase>;

export interface NewDatabase extends AttachedDatabase {
  /** Takes it away again: the import was refused. */
  drop(): Promise<void>;
}
