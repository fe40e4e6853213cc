import type { Client } from "pg";

/** A database next to the product's own, such as an account's metastore. It is exported and imported with it. */
export interface AttachedDatabase {
  /** The name in the export: lower-case letters, digits and hyphens. */
  readonly name: string;
  /** Connects as the owner of its tables. The caller closes the connection. */
  connect(): Promise<Client>;
}

/** Creates an empty database for an import; fails if there is one that is not empty. */
export type AttachDatabase = (name: string, product: Client) => Promise<NewDatabase>;

export interface NewDatabase extends AttachedDatabase {
  /** Deletes it, because the import was refused. */
  drop(): Promise<void>;
}
