import { addAbortSignal, Readable } from "node:stream";
import { filePieces } from "../object-body.ts";
import type { ObjectBody, PutOptions } from "../object-store.ts";
import { unreadable, ObjectStoreError } from "../object-store-error.ts";
import type { ObjectUri } from "../object-uri.ts";
import type { S3Call, S3Client, S3Response } from "./s3-client.ts";
import { formatPartList, parseErrorCode, parseUploadId } from "./s3-xml.ts";

/**
 * Uploads a body of unknown length. A body that fits into one part is a single request; a larger one is a multipart upload
 * with a few concurrent parts, so that memory use is (parts in flight + 1) × part size. A failed upload is aborted, because
 * S3 would charge for its invisible parts.
 */
export interface UploadLimits {
  partSizeBytes: number;
  partsInFlight: number;
}

const maxParts = 10_000;

type Target = Pick<S3Call, "bucket" | "key" | "subject" | "signal">;
type UploadCall = Target & { query: { uploadId: string } };

export async function upload(
  client: S3Client,
  { bucket, key }: ObjectUri,
  given: ObjectBody,
  options: PutOptions & UploadLimits & { subject: string },
): Promise<void> {
  const body =
    given instanceof Readable || Buffer.isBuffer(given)
      ? given
      : Readable.from(filePieces(given), { objectMode: false });
  const { subject, signal, contentType, partSizeBytes } = options;
  const call = { bucket, key, subject, signal };
  const headers = contentType === undefined ? {} : { "content-type": contentType };
  if (signal !== undefined && !Buffer.isBuffer(body)) addAbortSignal(signal, body);
  const parts = split(body, partSizeBytes);
  try {
    const first = (await parts.next()).value ?? Buffer.alloc(0);
    const second = first.length < partSizeBytes ? undefined : (await parts.next()).value;
    if (second === undefined) await client.sendForHeaders({ ...call, method: "PUT", headers, body: first });
    else await uploadParts(client, { ...call, headers }, [first, second], parts, options.partsInFlight);
  } catch (error) {
    signal?.throwIfAborted();
    throw error;
  } finally {
    await parts.return(undefined);
  }
}

async function uploadParts(
  client: S3Client,
  { headers, ...call }: Target & Required<Pick<S3Call, "headers">>,
  firstParts: readonly Buffer[],
  otherParts: AsyncIterable<Buffer>,
  inFlight: number,
): Promise<void> {
  const created = await client.sendForText({ ...call, method: "POST", query: { uploads: "" }, headers });
  const query = { uploadId: readUploadId(created, call.subject) };
  try {
    const sender = new PartSender(client, { ...call, query }, inFlight);
    for (const part of firstParts) await sender.add(part);
    for await (const part of otherParts) await sender.add(part);
    await complete(client, { ...call, query }, await sender.etags());
  } catch (error) {
    await client.sendForHeaders({ ...call, method: "DELETE", query, signal: undefined }).catch(() => undefined);
    throw error;
  }
}

function readUploadId(xml: string, subject: string): string {
  try {
    return parseUploadId(xml);
  } catch (error) {
    throw unreadable(subject, error);
  }
}

/** S3 may start to respond before it knows the outcome: the document, not the status, reports success. */
async function complete(client: S3Client, call: UploadCall, etags: readonly string[]): Promise<void> {
  const body = Buffer.from(formatPartList(etags));
  const code = parseErrorCode(await client.sendForText({ ...call, method: "POST", body }));
  if (code === null) return;
  throw new ObjectStoreError("unreachable", `${call.subject}: the object store could not join the parts (${code})`, {
    code,
  });
}

/** Sends parts with limited concurrency; the first failure aborts the others. */
class PartSender {
  readonly #client: S3Client;
  readonly #call: UploadCall;
  readonly #inFlight: number;
  readonly #failed = new AbortController();
  readonly #signal: AbortSignal;
  readonly #running = new Set<Promise<void>>();
  readonly #etags: string[] = [];
  #count = 0;

  constructor(client: S3Client, call: UploadCall, inFlight: number) {
    this.#client = client;
    this.#call = call;
    this.#inFlight = inFlight;
    const failed = this.#failed.signal;
    this.#signal = call.signal === undefined ? failed : AbortSignal.any([call.signal, failed]);
  }

  async add(part: Buffer): Promise<void> {
    this.#count += 1;
    if (this.#count > maxParts) {
      this.#failed.abort(new ObjectStoreError("too-large", `${this.#call.subject}: more than ${maxParts} parts`));
    }
    this.#signal.throwIfAborted();
    const sending = this.#send(part, this.#count).finally(() => this.#running.delete(sending));
    this.#running.add(sending);
    while (this.#running.size >= this.#inFlight) await Promise.race(this.#running);
    this.#signal.throwIfAborted();
  }

  async etags(): Promise<readonly string[]> {
    await Promise.all(this.#running);
    this.#signal.throwIfAborted();
    return this.#etags;
  }

  /** Never rejects: a failure becomes the abort reason, which every later step throws. */
  async #send(body: Buffer, number: number): Promise<void> {
    const query = { ...this.#call.query, partNumber: String(number) };
    try {
      const headers = await this.#client.sendForHeaders({
        ...this.#call,
        method: "PUT",
        query,
        body,
        signal: this.#signal,
      });
      this.#etags[number - 1] = etagOf(headers, this.#call.subject);
    } catch (error) {
      this.#failed.abort(error);
    }
  }
}

function etagOf(headers: S3Response["headers"], subject: string): string {
  const etag = headers["etag"];
  if (typeof etag === "string" && /^"?[A-Za-z0-9+/=_.-]{1,256}"?$/.test(etag)) return etag.replaceAll('"', "");
  throw unreadable(subject, new Error("the response for a part has no valid ETag"));
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
