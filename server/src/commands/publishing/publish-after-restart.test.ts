import { chmodSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { relayTo } from "../../../test/seaweedfs/relay.ts";
import { useSeaweedFs } from "../../../test/seaweedfs/seaweedfs.ts";
import { Client } from "../../../test/support/client.ts";
import { startNode } from "../../../test/support/node-process.ts";
import { cloneDatabase } from "../../../test/support/test-database.ts";
import { createAccountWithAdmin } from "../../accounts/create-account-with-admin.ts";
import { addDefaultCluster } from "../../clusters/default-cluster.ts";
import { openDatabase } from "../../db/database.ts";
import { getText } from "../../object-store/object-store.ts";
import { s3Store } from "../../object-store/s3/s3-store.ts";
import { newKey, writeKeys } from "../../lib/key-ring.ts";

const seaweedFs = useSeaweedFs();
const PATIENCE = { timeout: 45_000 };

let held: AsyncDisposableStack;
beforeEach(() => {
  held = new AsyncDisposableStack();
});
afterEach(() => held.disposeAsync());

test("results and logs that were not published when the server was killed are published by the next server", async () => {
  const base = mkdtempSync(join(tmpdir(), "headgate-publish-"));
  held.defer(() => rmSync(base, { recursive: true, force: true, maxRetries: 20 }));
  chmodSync(base, 0o711);
  const dataDir = join(base, "node");
  mkdirSync(dataDir, { mode: 0o711 });
  writeKeys(join(base, "keys"), [newKey([])]);
  const database = await cloneDatabase();
  held.defer(() => database.drop());
  const db = openDatabase({ ...database.connection, max: 2 });
  held.defer(() => db.close());
  const { token } = await db.asSystem((tx) =>
    createAccountWithAdmin(tx, {
      account: { name: "Publishing", parentId: null, plan: "free" },
      admin: { email: "publishing@example.test", name: "Founder", isOperator: false },
      features: [],
      addDefaults: addDefaultCluster,
    }),
  );
  const settings = { HEADGATE_KEY_FILE: join(base, "keys") };
  const bucket = await seaweedFs.bucket();
  const relay = await relayTo(seaweedFs.endpoint);
  await relay.goAway();

  const first = await startNode(dataDir, database.connection, settings);
  held.defer(() => first.crash());
  const client = new Client(first.url, token);
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
  await expect.poll(() => client.get(`/commands/${id}`), PATIENCE).toHaveProperty("publish_error");
  await first.crash();

  await relay.comeBack();
  held.defer(() => relay.goAway());
  const store = s3Store({ ...seaweedFs, endpoint: seaweedFs.endpoint, checkAddress: () => null });
  held.defer(() => store.close());
  const second = await startNode(dataDir, database.connection, settings);
  held.defer(() => second.crash());
  const again = new Client(second.url, token);
  await expect.poll(() => again.get(`/commands/${id}`), PATIENCE).not.toHaveProperty("publish_error");
  const object = (name: string) => getText(store, `s3://${bucket}${path}/${name}`, 100);
  expect([await object("results"), await object("logs")]).toEqual(["out\n", "err\n"]);
});
