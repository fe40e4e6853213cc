import type { S3Credentials } from "../../object-store/s3/sign-request.ts";

/**
 * The request that the server gives to the process of a copy, as JSON in a file that only its user can read. Its contents
 * are neither in the process's arguments nor in its environment.
 */
export interface CopyRequest {
  /** The arguments of the command: split into words, macros filled in, credentials in the clear. */
  readonly words: readonly string[];
  readonly account: CopyAccount;
  /** Networks that the operator allows besides public addresses (`network-policy.ts`). */
  readonly allowedNetworks: readonly string[];
  /** The folder that all attempts of the command share. It holds the journal. */
  readonly journalFolder: string;
  /** The attempt's own folder, for plans and temporary data. */
  readonly scratchFolder: string;
  /** The most memory that file contents may occupy at any time. */
  readonly bufferMiB: number;
}

/** The stores that the account can read and write. */
export interface CopyAccount {
  readonly s3: {
    /** `http(s)://host[:port][/path]`; null: the AWS endpoint of the region. */
    readonly endpoint: string | null;
    readonly region: string;
    /** Null: the account has no keys. */
    readonly credentials: S3Credentials | null;
  };
  /** Null: the account has no HDFS. */
  readonly hdfs: { readonly address: string; readonly user: string } | null;
  /** The URI that `storage:/` stands for. */
  readonly location: string;
  /** The only folder whose files `file:` URIs may name. */
  readonly fileRoot: string;
}

/** Throws if the text is not JSON. Its fields are not checked. */
export function parseCopyRequest(text: string): CopyRequest {
  return JSON.parse(text) as CopyRequest; // written by the server
}
