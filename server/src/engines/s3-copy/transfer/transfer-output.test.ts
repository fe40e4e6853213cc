import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { FaultyRelay } from "../../../../test/seaweedfs/relay.ts";
import { useCopyFolders } from "../../../../test/support/copy-folders.ts";
import { s3Store } from "../../../object-store/s3/s3-store.ts";
import type { S3Store } from "../../../object-store/s3/s3-operations.ts";
import { SingleOutput } from "../plan/output-record.ts";
import { S3Storage } from "../storage/s3-storage.ts";
import { OutputTransfer } from "./transfer-output.ts";

const MIB = 1024 * 1024;
const given = useCopyFolders();
const { signal } = new AbortController();
let relay: FaultyRelay;
let relayed: S3Store;

beforeAll(async () => {
  relay = await given.relay();
  relayed = s3Store({ ...given.s3, endpoint: relay.endpoint, checkAddress: () => null });
});
afterAll(() => relayed.close());

const noUploads = { noteUpload: () => Promise.resolve(), noteClosed: () => undefined };

test("a server-side copy in parts keeps its type, metadata and storage class", async () => {
  const attributes = { contentType: "text/csv", metadata: { owner: "someone" }, storageClass: "STANDARD_IA" };
  const [src, dest] = [given.folder(), given.folder()];
  const bytes = randomBytes(13 * MIB);
  await given.store.write(`${src}/large`, bytes, { attributes });
  const removal = { retries: 0, onRetry: () => undefined };
  const options = { encryption: null, storageClass: null, sourceKey: null, journal: noUploads, removal, signal };
  const storage = new S3Storage({ store: relayed, ...options });
  const [[source] = []] = await Array.fromAsync(storage.list(src));
  if (source === undefined) throw new Error("the object is not listed");
  let copied = 0;
  const transfer = new OutputTransfer({
    from: () => storage,
    to: storage,
    copy: { chunkSizeMiB: 5, disableMultipartUpload: false, appendToLastFile: false },
    journal: { noteOriginal: () => Promise.resolve() },
    slots: 4,
    bufferBytes: 64 * MIB,
    signal,
    spoolFolder: () => {
      throw new Error("nothing has to wait");
    },
    onBytes: (count) => (copied += count),
    copySizes: { wholeBytes: 10 * MIB, partBytes: 6 * MIB },
  });
  expect(await transfer.run(new SingleOutput("large", source, null), `${dest}/large`)).toBe(bytes.length);
  expect(copied).toBe(bytes.length);
  const ranges = relay.requests.flatMap(({ headers }) => headers["x-amz-copy-source-range"] ?? []);
  expect(ranges.toSorted()).toEqual([`bytes=0-${6 * MIB - 1}`, `bytes=${6 * MIB}-${13 * MIB - 1}`]);
  expect(relay.requests.filter(({ method }) => method === "GET" || method === "PUT")).toHaveLength(1 + ranges.length);
  const found = await given.store.read(`${dest}/large`);
  expect(found.bytes.equals(bytes)).toBe(true);
  expect(found.attributes).toMatchObject(attributes);
});
