import { afterAll, beforeAll } from "vitest";
import type { S3Store } from "../../src/object-store/s3/s3-operations.ts";
import { s3Store, type S3StoreOptions } from "../../src/object-store/s3/s3-store.ts";
import { useSeaweedFs, type SeaweedFs } from "../seaweedfs/seaweedfs.ts";

/** Clients of a real S3 server, where the test file has a bucket of its own. */
export interface S3Stores {
  readonly seaweedFs: SeaweedFs;
  readonly bucket: string;
  /** Does not retry. */
  readonly store: S3Store;
  /** Opens another store, which is closed at the end. */
  readonly storeWith: (options: Partial<S3StoreOptions>) => S3Store;
  /** The URI of a key of the bucket. */
  readonly at: (key: string) => string;
}

export function useS3Stores(): S3Stores {
  const seaweedFs = useSeaweedFs();
  const opened: S3Store[] = [];
  let bucket = "";
  let store: S3Store | undefined;
  beforeAll(async () => {
    bucket = await seaweedFs.bucket();
    store = storeWith({});
  });
  afterAll(async () => {
    await Promise.all(opened.map((one) => one.close()));
  });
  const storeWith = (options: Partial<S3StoreOptions>): S3Store => {
    const { endpoint, region, credentials } = seaweedFs;
    const made = s3Store({ endpoint, region, credentials, checkAddress: () => null, retries: 0, ...options });
    opened.push(made);
    return made;
  };
  return {
    seaweedFs,
    storeWith,
    get bucket() {
      return bucket;
    },
    get store() {
      if (store === undefined) throw new Error("the store is open only inside tests and hooks");
      return store;
    },
    at: (key) => `s3://${bucket}/${key}`,
  };
}
