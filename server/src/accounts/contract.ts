import type { ObjectStore } from "../object-store/object-store.ts";
import type { S3Credentials } from "../object-store/s3/sign-request.ts";
import type { REFRESH_ENGINES } from "./account-fields.ts";

/** The storage of accounts, with their own credentials. */
export interface AccountStorage {
  /** The caller closes the store. */
  open(accountId: number): Promise<OpenStorage>;
  /** For a process that opens the storage itself. */
  settings(accountId: number): Promise<StorageSettings>;
  /** Marks the account's storage as validated, if it still has the keys that a store has accepted. */
  noteKeysWork(accountId: number, accepted: S3Credentials): Promise<void>;
}

/** The stores that an account can read and write. */
export interface StorageSettings {
  readonly s3: {
    /** Null: the provider's endpoint of the region. */
    readonly endpoint: string | null;
    readonly region: string;
    /** Null: the account has no keys. */
    readonly credentials: S3Credentials | null;
  };
  /** Null: the account has no HDFS. */
  readonly hdfs: { readonly address: string; readonly user: string } | null;
  /** The account's `storage_location`, which `storage:/` stands for. */
  readonly location: string;
  /** The folder of its `file:` addresses. */
  readonly fileRoot: string;
}

export interface OpenStorage {
  readonly store: ObjectStore;
  /** The account's `storage_location`, a URI of the store. */
  readonly location: string;
  /** Whether there are keys for S3. */
  readonly hasKeys: boolean;
  readonly hdfsHttpAddress: string | null;
  /** Call it after S3 has accepted the keys. Marks the account's storage as validated. */
  noteKeysWork(): Promise<void>;
}

/** An account's `refresh_engine`: the catalog itself, or a statement that Spark runs. */
export type RefreshEngine = (typeof REFRESH_ENGINES)[number];
