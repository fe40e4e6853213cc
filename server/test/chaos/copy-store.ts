/**
 * The S3 server of a chaos run. It answers slowly, so that faults sometimes strike while a copy has uploads open.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { ObjectStore } from "../../src/object-store/object-store.ts";
import type { S3Store } from "../../src/object-store/s3/s3-operations.ts";
import { s3Store } from "../../src/object-store/s3/s3-store.ts";
import { faultyRelay } from "../seaweedfs/relay.ts";
import { createBucket } from "../seaweedfs/configure-seaweedfs.ts";
import { credentials, region, startSeaweedFs } from "../seaweedfs/seaweedfs-server.ts";
import { BUCKET, destinationOf, outputsOf, sourceFiles } from "./copied-files.ts";

export interface CopyStore {
  /** For the account. */
  readonly settings: Readonly<Record<string, string>>;
  /** Missing outputs of copies that are done, outputs with wrong contents, and uploads left open. */
  findFlaws(
    copies: readonly { readonly id: number; readonly key: string; readonly isDone: boolean }[],
  ): Promise<string[]>;
  close(): Promise<void>;
}

const ANSWER_MS = 100;
/** Each node looks every ten seconds for what ended copies have left. */
const CLEAN_UP_MS = 45_000;

export async function openCopyStore(cacheDir: string, folder: string): Promise<CopyStore> {
  const server = await startSeaweedFs(cacheDir, folder);
  const { endpoint } = server.shared;
  await createBucket(endpoint, BUCKET);
  const store = s3Store({ endpoint, region, credentials, checkAddress: () => null });
  for (const [uri, contents] of sourceFiles()) await store.write(uri, contents);
  const relay = await faultyRelay(endpoint, () => ({ kind: "hold", until: delay(ANSWER_MS) }));
  return {
    settings: {
      storage_access_key: credentials.accessKeyId,
      storage_secret_key: credentials.secretAccessKey,
      storage_endpoint: relay.endpoint,
      aws_region: region,
    },
    async findFlaws(copies) {
      const flaws = await Promise.all(copies.map((copy) => outputFlaws(store, copy)));
      return [...flaws.flat(), ...(await leftUploads(store))];
    },
    async close() {
      await relay.close();
      await store.close();
      await server.stop();
    },
  };
}

async function outputFlaws(
  store: ObjectStore & Pick<S3Store, "read">,
  { id, key, isDone }: { readonly id: number; readonly key: string; readonly isDone: boolean },
): Promise<string[]> {
  const outputs = outputsOf(key);
  const flaws: string[] = [];
  const found = new Set<string>();
  for await (const { uri } of store.list(`${destinationOf(key)}/`)) {
    found.add(uri);
    const expected = outputs.get(uri);
    if (expected === undefined) flaws.push(`${id} has written ${uri}, which is not one of its outputs`);
    else if (!(await store.read(uri)).bytes.equals(expected))
      flaws.push(`${id} has written ${uri} with wrong contents`);
  }
  const missing = isDone ? [...outputs.keys()].filter((uri) => !found.has(uri)) : [];
  return [...flaws, ...missing.map((uri) => `${id} is done but ${uri} is missing`)];
}

/** Waits a while, because the nodes may still be cleaning up. */
async function leftUploads(store: S3Store): Promise<string[]> {
  const end = performance.now() + CLEAN_UP_MS;
  for (;;) {
    const open = await Array.fromAsync(store.openUploads(`s3://${BUCKET}/`));
    if (open.length === 0 || performance.now() > end) return open.map(({ uri }) => `an upload of ${uri} is left open`);
    await delay(500);
  }
}
