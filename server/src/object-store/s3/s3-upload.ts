/**
 * Uploads a body of any length. A body that fits into one part is a single request; a larger one is a multipart upload
 * with a few concurrent parts, whose memory is used again (see `memoryOfUpload`). A failed upload
 * is aborted, because S3 would charge for its invisible parts.
 */
import { addAbortSignal, Readable } from "node:stream";
import { filePieces } from "../object-body.ts";
import type { ObjectBody, PutOptions, StoredPut } from "../object-store.ts";
import { ObjectStoreError } from "../object-store-error.ts";
import { conditionalWrite } from "./conditional-write.ts";
import { PartBuffers, partSize, splitIntoParts } from "./body-parts.ts";
import type { S3Client } from "./s3-client.ts";
import { abortUpload, completeUpload, createUpload, MAX_PARTS, uploadPart } from "./s3-multipart.ts";
import { writeObject } from "./s3-objects.ts";
import type { Upload, UploadedPart, WriteOptions, Written } from "./s3-operations.ts";

export interface UploadLimits {
  partSizeBytes: number;
  partsInFlight: number;
}

/** A store that does not answer must not hold the caller for long. */
const ABORT_MS = 10_000;

export async function upload(
  client: S3Client,
  uri: string,
  given: ObjectBody,
  options: PutOptions & UploadLimits,
): Promise<StoredPut> {
  const body =
    given instanceof Readable || Buffer.isBuffer(given)
      ? given
      : Readable.from(filePieces(given), { objectMode: false });
  const { signal, contentType, ifMatch, partSizeBytes, ownsChunks } = options;
  const bytes = options.bytes ?? (await lengthOf(given));
  const size = partSize(bytes, partSizeBytes);
  if (size === undefined) throw tooLarge(uri);
  const write = await conditionalWrite(client, uri, ifMatch, signal);
  if (signal !== undefined && !Buffer.isBuffer(body)) addAbortSignal(signal, body);
  const buffers = new PartBuffers();
  const parts = splitIntoParts(body, size, buffers, ownsChunks);
  const writing = { attributes: { contentType }, signal };
  try {
    const first = (await parts.next()).value ?? Buffer.alloc(0);
    const second = first.length < size ? undefined : (await parts.next()).value;
    if (second === undefined) {
      const { etag } = await write((condition) => writeObject(client, uri, first, { ...writing, ifMatch: condition }));
      return { size: first.length, etag, modifiedAt: null };
    }
    const all = concatenated([first, second], parts);
    return await uploadParts(client, uri, all, { ...options, writing, buffers, write });
  } catch (error) {
    signal?.throwIfAborted();
    throw error;
  } finally {
    await parts.return(undefined);
  }
}

async function lengthOf(body: ObjectBody): Promise<number | undefined> {
  if (body instanceof Readable) return undefined;
  return Buffer.isBuffer(body) ? body.length : (await body.stat()).size;
}

function tooLarge(uri: string): ObjectStoreError {
  const rule = "an upload has at most 312 GiB, or 78 GiB if its length is not known before";
  return new ObjectStoreError("too-large", `${uri}: ${rule}`);
}

interface PartsOptions extends UploadLimits, Pick<PutOptions, "onUnfinished"> {
  readonly writing: WriteOptions;
  readonly buffers: PartBuffers;
  readonly write: (attempt: (ifMatch: string | undefined) => Promise<Written>) => Promise<Written>;
}

async function uploadParts(
  client: S3Client,
  uri: string,
  parts: AsyncIterable<Buffer>,
  { partsInFlight, writing, buffers, write, onUnfinished }: PartsOptions,
): Promise<StoredPut> {
  const { signal } = writing;
  const created = { uri, uploadId: await createUpload(client, uri, writing) };
  try {
    await onUnfinished?.({ uri, id: created.uploadId });
    const sender = new PartSender(client, created, { inFlight: partsInFlight, signal, buffers });
    let size = 0;
    for await (const part of parts) {
      size += part.length;
      await sender.add(part);
    }
    const sent = await sender.parts();
    const { etag } = await write((ifMatch) => completeUpload(client, created, sent, { ifMatch, signal }));
    return { size, etag, modifiedAt: null };
  } catch (error) {
    await abortUpload(client, created, { signal: AbortSignal.timeout(ABORT_MS) }).catch(() => undefined);
    throw error;
  }
}

/** Sends parts with limited concurrency; the first failure aborts the others. */
class PartSender {
  readonly #client: S3Client;
  readonly #upload: Upload;
  readonly #inFlight: number;
  readonly #buffers: PartBuffers;
  readonly #failed = new AbortController();
  readonly #signal: AbortSignal;
  readonly #running = new Set<Promise<void>>();
  readonly #parts: UploadedPart[] = [];
  #count = 0;

  constructor(client: S3Client, created: Upload, { inFlight, signal, buffers }: SenderOptions) {
    this.#client = client;
    this.#upload = created;
    this.#inFlight = inFlight;
    this.#buffers = buffers;
    const failed = this.#failed.signal;
    this.#signal = signal === undefined ? failed : AbortSignal.any([signal, failed]);
  }

  async add(part: Buffer): Promise<void> {
    this.#count += 1;
    if (this.#count > MAX_PARTS) {
      this.#failed.abort(tooLarge(this.#upload.uri));
    }
    this.#signal.throwIfAborted();
    const sending = this.#send(part, this.#count).finally(() => this.#running.delete(sending));
    this.#running.add(sending);
    while (this.#running.size >= this.#inFlight) await Promise.race(this.#running);
    this.#signal.throwIfAborted();
  }

  async parts(): Promise<readonly UploadedPart[]> {
    await Promise.all(this.#running);
    this.#signal.throwIfAborted();
    return this.#parts;
  }

  /** Never rejects: a failure becomes the abort reason, which every later step throws. */
  async #send(body: Buffer, number: number): Promise<void> {
    try {
      this.#parts.push(await uploadPart(this.#client, this.#upload, number, body, { signal: this.#signal }));
    } catch (error) {
      this.#failed.abort(error);
    } finally {
      this.#buffers.giveBack(body);
    }
  }
}

interface SenderOptions {
  readonly inFlight: number;
  readonly signal: AbortSignal | undefined;
  readonly buffers: PartBuffers;
}

async function* concatenated(first: readonly Buffer[], others: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  yield* first;
  yield* others;
}
