import type { ObjectStore } from "../engines/object-store/object-store.ts";
import type { REFRESH_ENGINES } from "./account-fields.ts";

/** Opens the storage of an account with its own credentials. The caller closes the store. */
export interface AccountStorage {
  open(accountId: number): Promise<OpenStorage>;
}

export interface OpenStorage {
  readonly store: ObjectStore;
  /** The account's `storage_location`, a URI of the store. */
  readonly location: string;
  /** Whether there are keys for S3. */
  readonly hasKeys: boolean;
  readonly hdfsHttpAddress: string | null;
}

/** An account's `refresh_engine`: the catalog itself, or a statement that Spark runs. */
export type RefreshEngine = (typeof REFRESH_ENGINES)[number];
