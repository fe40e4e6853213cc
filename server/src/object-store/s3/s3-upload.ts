/**
 * Uploads a body of unknown length. A body that fits into one part is a single request; a larger one is a multipart upload
 * with a few concurrent parts, so that memory use is (parts in flight + 1) × part size. A failed upload is aborted, because
 * S3 would charge for its invisible parts.
 */
import { addAbortSignal, Readable } from "node:stream";
import { filePieces } from "../object-body.ts";
import type { ObjectBody, PutOptions } from "../object-store.ts";
import { ObjectStoreError } from "../object-store-error.ts";
import type { S3Client } from "./s3-client.ts";
import { abortUpload, completeUpload, createUpload, MAX_PARTS, uploadPart } from "./s3-multipart.ts";
import { writeObject } from "./s3-objects.ts";
import type { Upload, UploadedPart, WriteOptions } from "./s3-operations.ts";

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
): Promise<void> {
  const body =
    given instanceof Readable || Buffer.isBuffer(given)
      ? given
      : Readable.from(filePieces(given), { objectMode: false });
  const { signal, contentType, partSizeBytes } = options;
  if (signal !== undefined && !Buffer.isBuffer(body)) addAbortSignal(signal, body);
  const parts = split(body, partSizeBytes);
  const writing = { attributes: { contentType }, signal };
  try {
    const first = (await parts.next()).value ?? Buffer.alloc(0);
    const second = first.length < partSizeBytes ? undefined : (await parts.next()).value;
    if (second === undefined) await writeObject(client, uri, first, writing);
    else await uploadParts(client, uri, concatenated([first, second], parts), { ...options, writing });
  } catch (error) {
    signal?.throwIfAborted();
    throw error;
  } finally {
    await parts.return(undefined);
  }
}

async function uploadParts(
  client: S3Client,
  uri: string,
  parts: AsyncIterable<Buffer>,
  { partsInFlight, writing }: UploadLimits & { writing: WriteOptions },
): Promise<void> {
  const { signal } = writing;
  const created = { uri, uploadId: await createUpload(client, uri, writing) };
  try {
    const sender = new PartSender(client, created, partsInFlight, signal);
    for await (const part of parts) await sender.add(part);
    await completeUpload(client, created, await sender.parts(), { signal });
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
  readonly #failed = new AbortController();
  readonly #signal: AbortSignal;
  readonly #running = new Set<Promise<void>>();
  readonly #parts: UploadedPart[] = [];
  #count = 0;

  constructor(client: S3Client, created: Upload, inFlight: number, signal: AbortSignal | undefined) {
    this.#client = client;
    this.#upload = created;
    this.#inFlight = inFlight;
    const failed = this.#failed.signal;
    this.#signal = signal === undefined ? failed : AbortSignal.any([signal, failed]);
  }

  async add(part: Buffer): Promise<void> {
    this.#count += 1;
    if (this.#count > MAX_PARTS) {
      this.#failed.abort(new ObjectStoreError("too-large", `${this.#upload.uri}: more than ${MAX_PARTS} parts`));
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
    }
  }
}

async function* concatenated(first: readonly Buffer[], others: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  yield* first;
  yield* others;
}

/** Splits a body into parts of exactly this size, except for the last; an empty body has none. */
async function* split(body: Readable | Buffer, size: number): AsyncGenerator<Buffer, undefined> {
  if (Buffer.isBuffer(body)) {
    for (let start = 0; start < body.length; start += size) yield body.subarray(start, start + size);
    return;
  }
  let gathered: Buffer[] = [];
  let missing = size;
  for await (const chunk of body as AsyncIterable<Buffer | string>) {
    let rest = typeof chunk === "string" ? Buffer.from(chunk) : chunk;
    while (rest.length >= missing) {
      yield Buffer.concat([...gathered, rest.subarray(0, missing)]);
      rest = rest.subarray(missing);
      gathered = [];
      missing = size;
    }
    if (rest.length > 0) gathered.push(rest);
    missing -= rest.length;
  }
  if (gathered.length > 0) yield Buffer.concat(gathered);
}
