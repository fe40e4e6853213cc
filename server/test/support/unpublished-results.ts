import { expect, vi } from "vitest";
import { getText } from "../../src/object-store/object-store.ts";
import { s3Store } from "../../src/object-store/s3/s3-store.ts";
import { relayTo } from "../seaweedfs/relay.ts";
import type { SeaweedFs } from "../seaweedfs/seaweedfs.ts";
import type { Client } from "./client.ts";

/** Results and a log that could not be published, of a command that has ended. */
export interface UnpublishedResults {
  readonly id: number;
  /** Makes the store reachable again. */
  readonly restoreStore: () => Promise<void>;
  /** Reads the text that was published under this name. */
  readonly textOf: (name: string) => Promise<string>;
}

/** Runs a command of the client's account, whose store cannot be reached. */
export async function submitUnpublished(
  client: Client,
  seaweedFs: SeaweedFs,
  held: AsyncDisposableStack,
): Promise<UnpublishedResults> {
  const bucket = await seaweedFs.bucket();
  const relay = await relayTo(seaweedFs.endpoint);
  await relay.goAway();
  const { accessKeyId, secretAccessKey } = seaweedFs.credentials;
  await client.put("/api/v2/accounts", {
    account: {
      defloc: `s3://${bucket}`,
      storage_access_key: accessKeyId,
      storage_secret_key: secretAccessKey,
      storage_endpoint: relay.endpoint,
    },
  });
  const submission = { command_type: "SparkCommand", language: "python", program: "echo out; echo err >&2" };
  const { id, path } = await client.post("/commands", submission);
  expect((await client.get(`/commands/${id}?wait_seconds=60`)).status).toBe("done");
  const failed = async () => expect(await client.get(`/commands/${id}`)).toHaveProperty("publish_error");
  await vi.waitFor(failed, { timeout: 45_000 }); // called in a hook, which cannot use `expect.poll`
  const store = s3Store({ ...seaweedFs, endpoint: seaweedFs.endpoint, checkAddress: () => null });
  held.defer(() => store.close());
  return {
    id,
    async restoreStore() {
      await relay.comeBack();
      held.defer(() => relay.goAway());
    },
    textOf: (name) => getText(store, `s3://${bucket}${path}/${name}`, 100),
  };
}
