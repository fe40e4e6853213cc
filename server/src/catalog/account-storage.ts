import type { ObjectStore } from "../engines/object-store/object-store.ts";

/** The storage of an account, opened with its own credentials; `app` hands it in. Whoever opens it closes it. */
export interface AccountStorage {
  open(accountId: number): Promise<OpenStorage>;
}

export interface OpenStorage {
  readonly store: ObjectStore;
  /** Whether there are keys for S3. */
  readonly hasKeys: boolean;
  readonly hdfsHttpAddress: string | null;
}
