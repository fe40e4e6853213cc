import { createHash, hash, webcrypto } from "node:crypto";
import { Readable } from "node:stream";
import type { Dispatcher } from "undici";
import type { Clock } from "../../lib/clock.ts";
import { limitConcurrency } from "../../lib/limit-concurrency.ts";
import { failureOfConnection, ObjectStoreError } from "../object-store-error.ts";
import { readLimited, sendRequest } from "../guarded-agent.ts";
import { pauseBeforeRetry } from "../retry-pause.ts";
import { actualRegion, BucketRegions, type BucketPlace } from "./bucket-regions.ts";
import { collectResponse, ERROR_LIMIT_BYTES, type S3Answer } from "./collect-response.ts";
import type { RawClient } from "./raw-client.ts";
import { RequestLimiter } from "./request-limiter.ts";
import type { BodyRoom } from "./response-body.ts";
import { objectPath, queryText, type S3Endpoint } from "./s3-address.ts";
import { failureOfStatus, type S3Failure } from "./s3-failure.ts";
import { parseError } from "./s3-xml.ts";
import { EMPTY_PAYLOAD_HASH, requestSigner, UNSIGNED_PAYLOAD } from "./sign-request.ts";
import type { S3Credentials, SignRequest } from "./sign-request.ts";

interface S3ClientOptions extends S3Endpoint {
  credentials: S3Credentials;
  dispatcher: Dispatcher;
  rawClient: RawClient;
  clock: Clock;
  /** Number of retries after the first attempt. */
  retries: number;
  /** Retry also if no connection could be made or the store was silent. */
  retriesTimeouts: boolean;
  maxConnections: number;
  headersTimeoutMs: number;
}

/**
 * Most calls may be repeated: S3 answers a repeated part or completion like the first. A repeated creation of an upload
 * makes another one, so its caller is told by `onUnknownOutcome`. A repeated delete may delete what was written after the
 * first one, so `isSentOnce` leaves the decision to its caller.
 */
export interface S3Call {
  method: "GET" | "HEAD" | "PUT" | "POST" | "DELETE";
  bucket: string;
  key: string;
  query?: Readonly<Record<string, string>>;
  headers?: Readonly<Record<string, string>>;
  body?: Buffer | StreamedBody;
  /** The start of error messages. */
  subject: string;
  signal?: AbortSignal | undefined;
  /** A response with the status 200 may contain an error document. */
  mayFailLate?: boolean;
  /** The bytes that the store copies inside itself before it answers. */
  copiedBytes?: number | undefined;
  /** Called when the store may have carried out the call although there is no answer. */
  onUnknownOutcome?: () => void;
  /** No retries. */
  isSentOnce?: boolean;
}

/** A body that does not fit into memory. */
export interface StreamedBody {
  readonly bytes: number;
  /** Called for each attempt. */
  readonly contents: () => AsyncIterable<Buffer>;
}

export type S3Response = Dispatcher.ResponseData;
type SignedRequest = Dispatcher.DispatchOptions & {
  method: S3Call["method"];
  origin: string;
  headers: Record<string, string>;
  body: Buffer | Readable | null;
};

const textLimitBytes = 4 * 1024 * 1024; // a page of 1,000 keys of 1,024 bytes, each percent-encoded
const syncHashBytes = 64 * 1024;
/** Larger bodies are sent in pieces: the timeout of the response restarts with each piece that the network takes. */
const pieceBytes = 256 * 1024;
/** Copies of at most this size need no more time than other calls. */
const quickCopyBytes = 64 * 1024 * 1024;
/** 8 MiB per second: the slowest copy inside a store that does not count as silence. */
const slowestCopyBytesPerMs = (8 * 1024 * 1024) / 1000;

/** Signs and sends calls, retries transient failures and translates errors to `ObjectStoreError`. */
export class S3Client {
  readonly #options: S3ClientOptions;
  readonly #regions: BucketRegions;
  readonly #sign: SignRequest;
  readonly #limiter: RequestLimiter;
  #retryCount = 0;

  constructor(options: S3ClientOptions) {
    this.#options = options;
    this.#regions = new BucketRegions(options);
    this.#sign = requestSigner(options.credentials);
    this.#limiter = new RequestLimiter(options.maxConnections);
  }

  get retryCount(): number {
    return this.#retryCount;
  }

  /** Returns only successful responses, whose body the caller must read or dump. */
  send(call: S3Call): Promise<S3Response> {
    const { dispatcher } = this.#options;
    return this.#perform(call, async (request, place) => {
      const response = await sendRequest(dispatcher, request, call.signal);
      if (isSuccess(response.statusCode)) return response;
      const text = await readLimited(response.body, ERROR_LIMIT_BYTES).catch(() => "");
      return this.#refusal(call, place, { status: response.statusCode, headers: response.headers, text });
    });
  }

  /** Returns only successful responses, with their whole body in memory. */
  collect(call: S3Call, limitBytes = textLimitBytes): Promise<S3Answer> {
    return this.collectAs(call, limitBytes, (answer) => answer);
  }

  /** Returns what `read` makes of a response. One that it refuses with an `ObjectStoreError` is requested again. */
  collectAs<T extends object>(call: S3Call, limitBytes: number, read: (answer: S3Answer) => T): Promise<T> {
    return this.#perform(call, async (request, place) => {
      const answer = await this.#exchange(request, limitBytes, call.signal);
      const isLate = call.mayFailLate === true && isSuccess(answer.status) && isError(answer.bytes);
      if (isSuccess(answer.status) && !isLate) return readOrFailure(answer, read);
      const text = answer.bytes.toString("utf8", 0, ERROR_LIMIT_BYTES);
      return this.#refusal(call, place, { status: answer.status, headers: answer.headers, text });
    });
  }

  /** Like `collectAs`, for a body of many bytes: they go straight into the given memory. */
  downloadAs<T extends object>(call: S3Call, into: Buffer, read: (answer: S3Answer) => T): Promise<T> {
    return this.#perform(call, async (request, place) => {
      const answer = await this.#exchange(request, into, call.signal);
      if (isSuccess(answer.status)) return readOrFailure(answer, read);
      return this.#refusal(call, place, { ...answer, text: answer.bytes.toString("utf8") });
    });
  }

  /** Bodies that are sent in pieces, and requests with a timeout of their own, need the general client. */
  #exchange(request: SignedRequest, room: BodyRoom, signal: AbortSignal | undefined): Promise<S3Answer> {
    const { dispatcher, rawClient } = this.#options;
    const { body } = request;
    const isPlain = request.headersTimeout === undefined;
    if (isPlain && (body === null || Buffer.isBuffer(body))) return rawClient.send({ ...request, body }, room, signal);
    return collectResponse(dispatcher, request, typeof room === "number" ? room : room.length, signal);
  }

  async #perform<T extends object>(
    call: S3Call,
    attempt: (request: SignedRequest, place: BucketPlace) => Promise<T | S3Failure | "moved">,
  ): Promise<T> {
    const payloadHash = await this.#payloadHash(call);
    for (let retries = 0; ;) {
      call.signal?.throwIfAborted();
      if (!this.#limiter.tryEnter()) await this.#limiter.enter(call.signal);
      const { generation } = this.#limiter;
      const place = this.#regions.placeOf(call.bucket);
      let outcome: T | S3Failure | "moved";
      try {
        outcome = await attempt(this.#signed(call, place, payloadHash), place);
      } catch (error) {
        call.onUnknownOutcome?.();
        call.signal?.throwIfAborted();
        const failure = failureOfConnection(call.subject, error, this.#options.retriesTimeouts);
        outcome = { ...failure, isSlowDown: failure.isTransient }; // an overloaded store also breaks connections
      } finally {
        this.#limiter.leave();
      }
      if (outcome === "moved") continue;
      if (!isFailure(outcome)) {
        this.#limiter.succeeded();
        return outcome;
      }
      if (outcome.isSlowDown) this.#limiter.slowDown(generation);
      const isLast = call.isSentOnce === true || retries >= this.#options.retries;
      if (!outcome.isTransient || isLast) throw outcome.error;
      await pauseBeforeRetry(retries, call.signal);
      retries += 1;
      this.#retryCount += 1;
    }
  }

  /** Redirects are never followed: at most, the request is sent again to the region that the store names. */
  #refusal(
    call: S3Call,
    place: BucketPlace,
    { status, headers, text }: Pick<S3Answer, "status" | "headers"> & { text: string },
  ): S3Failure | "moved" {
    const { code, region, endpoint } = parseError(text);
    const actual = actualRegion({ status, headers, region, endpoint });
    if (actual !== null && this.#regions.move(call.bucket, place, actual)) return "moved";
    const isWrongPlace = status !== 400 || actual !== place.region; // stores name the region in other refusals as well
    return failureOfStatus(call.subject, status, code, isWrongPlace ? actual : null);
  }

  /** Signs each attempt anew, because a signature is valid only for minutes. */
  #signed(call: S3Call, place: BucketPlace, payloadHash: string): SignedRequest {
    const path = objectPath(place.basePath, call.key);
    const query = call.query === undefined ? "" : queryText(call.query);
    const headers = this.#sign(
      {
        method: call.method,
        path,
        query,
        headers: { ...call.headers, ...lengthOf(call), host: place.host },
        payloadHash,
      },
      place.region,
      this.#options.clock.now(),
    );
    return {
      origin: place.origin,
      path: query === "" ? path : `${path}?${query}`,
      method: call.method,
      headers,
      body: bodyOf(call),
      ...this.#timeoutsOf(call),
    };
  }

  /** Some stores are silent until they have copied everything. */
  #timeoutsOf({ copiedBytes = 0 }: S3Call): Pick<SignedRequest, "headersTimeout" | "bodyTimeout"> {
    if (copiedBytes <= quickCopyBytes) return {};
    const timeoutMs = this.#options.headersTimeoutMs + Math.ceil(copiedBytes / slowestCopyBytesPerMs);
    return { headersTimeout: timeoutMs, bodyTimeout: timeoutMs };
  }

  async #payloadHash({ body, bucket }: S3Call): Promise<string> {
    if (body === undefined) return EMPTY_PAYLOAD_HASH;
    if (!Buffer.isBuffer(body)) {
      return this.#regions.placeOf(bucket).isProtected ? UNSIGNED_PAYLOAD : hashOfStream(body);
    }
    if (body.length === 0) return EMPTY_PAYLOAD_HASH;
    if (this.#regions.placeOf(bucket).isProtected) return UNSIGNED_PAYLOAD;
    if (body.length <= syncHashBytes) return hash("sha256", body);
    // Not on the main thread, because a part has megabytes. Our buffers are never in shared memory.
    const bytes = body as Uint8Array<ArrayBuffer>;
    return Buffer.from(await inDigest(() => webcrypto.subtle.digest("SHA-256", bytes))).toString("hex");
  }
}

/** A digest copies its bytes, so only a few are computed at the same time. */
const inDigest = limitConcurrency(2);

function bodyOf({ body }: S3Call): Buffer | Readable | null {
  if (body === undefined || isSentWhole(body)) return body ?? null;
  return Readable.from(Buffer.isBuffer(body) ? piecesOf(body) : body.contents(), { objectMode: false });
}

function isSentWhole(body: Buffer | StreamedBody): body is Buffer {
  return Buffer.isBuffer(body) && body.length <= pieceBytes;
}

function* piecesOf(body: Buffer): Generator<Buffer> {
  for (let at = 0; at < body.length; at += pieceBytes) yield body.subarray(at, at + pieceBytes);
}

/** Without it, a streamed body would be sent in chunks, which S3 does not accept. */
function lengthOf({ body }: S3Call): Record<string, string> {
  if (body === undefined || isSentWhole(body)) return {};
  return { "content-length": String(Buffer.isBuffer(body) ? body.length : body.bytes) };
}

async function hashOfStream({ contents }: StreamedBody): Promise<string> {
  const sha256 = createHash("sha256");
  for await (const chunk of contents()) sha256.update(chunk);
  return sha256.digest("hex");
}

function isSuccess(status: number): boolean {
  return status >= 200 && status < 300;
}

function isFailure(outcome: object): outcome is S3Failure {
  return "isTransient" in outcome;
}

function readOrFailure<T extends object>(answer: S3Answer, read: (answer: S3Answer) => T): T | S3Failure {
  try {
    return read(answer);
  } catch (error) {
    if (!(error instanceof ObjectStoreError)) throw error;
    return { error, isTransient: true, isSlowDown: false };
  }
}

function isError(bytes: Buffer): boolean {
  return bytes.length <= ERROR_LIMIT_BYTES && parseError(bytes.toString("utf8")).code !== null;
}
