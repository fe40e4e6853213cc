/** Uploads that end at any moment, by their client or by a killed server, on the server's disk and on S3. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { beginUpload, download, FILES, upload } from "../../test/support/file-calls.ts";
import { operatorClient, startHeadgate, temporaryDataDir } from "../../test/support/headgate-process.ts";
import type { HeadgateProcess } from "../../test/support/headgate-process.ts";
import { useS3Stores } from "../../test/support/s3-stores.ts";
import { storageSettings } from "../../test/seaweedfs/seaweedfs.ts";
import type { Client } from "../../test/support/client.ts";

const MIB = 1024 * 1024;
const BYTES = 24 * MIB;
const MOMENTS = 20;
const s3 = useS3Stores();
const dataDir = temporaryDataDir();
let headgate: HeadgateProcess;
let client: Client;

async function start(): Promise<void> {
  headgate = await startHeadgate(dataDir.path);
  client = operatorClient(headgate, dataDir.path);
}

beforeAll(start);
afterAll(async () => {
  await headgate.stop();
  dataDir.remove();
});

describe.each(["local", "S3"])("on %s", (kind) => {
  const leftInStore = async (): Promise<unknown[]> => Array.fromAsync(s3.store.openUploads(s3.at("")));
  const leftOnDisk = (): string[] => readdirSync(join(dataDir.path, "uploads"));
  const nothingIsLeft = async (): Promise<void> => {
    await expect.poll(leftOnDisk, { timeout: 90_000 }).toEqual([]);
    await expect.poll(leftInStore).toEqual([]);
    expect((await client.get(FILES)).files).toMatchObject([{ path: "old", size: 3 }]);
    expect((await download(client, "old")).text).toBe("old");
  };

  beforeAll(async () => {
    const { credentials, endpoint } = s3.seaweedFs;
    if (kind === "S3") {
      const account = { defloc: `s3://${s3.bucket}/files`, ...storageSettings(credentials, endpoint) };
      await client.put("/api/v2/accounts", { account });
    }
    await upload(client, "old", "old");
  });

  test(`an upload whose client leaves at any of ${MOMENTS} moments leaves nothing`, async () => {
    for (let moment = 0; moment < MOMENTS; moment += 1) {
      const path = moment % 2 === 0 ? "old" : `new/${moment}`;
      const { request } = beginUpload(client, path, { "Content-Length": String(BYTES) });
      request.flushHeaders();
      const sent = Math.floor((BYTES * moment) / MOMENTS);
      if (sent > 0) await new Promise<void>((done) => void request.write(Buffer.alloc(sent), () => done()));
      request.destroy();
    }
    await nothingIsLeft();
  });

  test("a server that is killed during an upload leaves nothing after its next start", async () => {
    for (const sent of [1, 6 * MIB, 18 * MIB]) {
      const { request } = beginUpload(client, "new/file", { "Content-Length": String(BYTES) });
      await new Promise<void>((done) => void request.write(Buffer.alloc(sent), () => done()));
      const isNoted = kind === "local" || sent > 10 * MIB;
      await vi.waitUntil(() => !isNoted || leftOnDisk().length > 0, { timeout: 45_000 });
      await headgate.crash();
      await start();
      await nothingIsLeft();
    }
  });
});
