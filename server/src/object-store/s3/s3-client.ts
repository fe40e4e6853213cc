import { createHash, hash, webcrypto } from "node:crypto";
import type { Clock } from "../../lib/clock.ts";
import { limitConcurrency } from "../../lib/limit-concurrency.ts";
import { failureOfConnection, ObjectStoreError } from "../object-store-error.ts";
import { pauseBeforeRetry } from "../retry-pause.ts";
import { actualRegion, BucketRegions, type BucketEndpoint } from "./bucket-regions.ts";
import type { RawClient } from "./raw-client.ts";
import type { RawAnswer } from "./raw-connection.ts";
import type { RawRequest, StreamedBody } from "./raw-request.ts";
import { RequestLimiter } from "./request-limiter.ts";
import { ERROR_LIMIT_BYTES, isSuccess, type BodyRoom, BodyStream } from "./response-body.ts";
import { objectPath, queryText, type S3Endpoint } from "./s3-address.ts";
import { failureOfStatus, type S3Failure } from "./s3-failure.ts";
import { parseError } from "./s3-xml.ts";
import { EMPTY_PAYLOAD_HASH, requestSigner, UNSIGNED_PAYLOAD } from "./sign-request.ts";
import type { S3Credentials, SignRequest } from "./sign-request.ts";

interface S3ClientOptions extends S3Endpoint {
  credentials: S3Credentials;
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
  /** The bytes of a server-side copy, which ends before the store answers. */
  copiedBytes?: number | undefined;
  /** Called when the store may have carried out the call although there is no answer. */
  onUnknownOutcome?: () => void;
  /** Called when the call is sent again: the store may have carried it out before. */
  onRetry?: () => void;
  /** No retries. */
  isSentOnce?: boolean;
}

/** A response whose body must be read or destroyed: until then it counts as a request. */
export type StreamedAnswer = RawAnswer & { readonly stream: BodyStream };

const textLimitBytes = 4 * 1024 * 1024; // a page of 1,000 keys of 1,024 bytes, each percent-encoded
const syncHashBytes = 64 * 1024;
/** Copies of at most this size need no more time than other calls. */
const quickCopyBytes = 64 * 1024 * 1024;
/** 8 MiB per second: the slowest server-side copy that does not count as silence. */
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

  /** The same for all clients of one service. */
  get service(): string {
    return this.#options.endpoint ?? "";
  }

  get retryCount(): number {
    return this.#retryCount;
  }

  /** Returns only successful responses. */
  send(call: S3Call): Promise<StreamedAnswer> {
    return this.#perform(call, async (request, bucketEndpoint) => {
      const answer = await this.#options.rawClient.send(request, "stream", call.signal);
      const { stream } = answer;
      return stream === null ? this.#refusal(call, bucketEndpoint, answer) : { ...answer, stream };
    });
  }

  /** Returns only successful responses, with their whole body in memory. */
  collect(call: S3Call): Promise<RawAnswer> {
    return this.collectAs(call, textLimitBytes, (answer) => answer);
  }

  /**
   * Returns what `read` makes of a response. One that it refuses with an `ObjectStoreError` is requested again. `room`: the
   * memory for the body, or its largest size.
   */
  collectAs<T extends object>(call: S3Call, room: BodyRoom, read: (answer: RawAnswer) => T): Promise<T> {
    return this.#perform(call, async (request, bucketEndpoint) => {
      const answer = await this.#options.rawClient.send(request, room, call.signal);
      const isLate = call.mayFailLate === true && isSuccess(answer.status) && isError(answer.bytes);
      return isSuccess(answer.status) && !isLate
        ? readOrFailure(answer, read)
        : this.#refusal(call, bucketEndpoint, answer);
    });
  }

  async #perform<T extends object>(
    call: S3Call,
    attempt: (request: RawRequest, bucketEndpoint: BucketEndpoint) => Promise<T | S3Failure | "moved">,
  ): Promise<T> {
    const payloadHash = await this.#payloadHash(call);
    for (let retries = 0; ;) {
      call.signal?.throwIfAborted();
      if (!this.#limiter.tryEnter()) await this.#limiter.enter(call.signal);
      const { generation } = this.#limiter;
      const bucketEndpoint = this.#regions.endpointOf(call.bucket);
      let outcome: T | S3Failure | "moved" | undefined;
      try {
        outcome = await attempt(this.#signed(call, bucketEndpoint, payloadHash), bucketEndpoint);
      } catch (error) {
        call.onUnknownOutcome?.();
        call.signal?.throwIfAborted();
        const failure = failureOfConnection(call.subject, error, this.#options.retriesTimeouts);
        outcome = { ...failure, isSlowDown: failure.isTransient }; // an overloaded store also breaks connections
      } finally {
        const stream = streamOf(outcome);
        if (stream === null) this.#limiter.leave();
        else stream.once("close", () => this.#limiter.leave());
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
      call.onRetry?.();
    }
  }

  /** Redirects are never followed: at most, the request is sent again to the region that the store names. */
  #refusal(call: S3Call, bucketEndpoint: BucketEndpoint, { status, headers, bytes }: RawAnswer): S3Failure | "moved" {
    const { code, region, endpoint } = parseError(bytes);
    const actual = actualRegion({ status, headers, region, endpoint });
    if (actual !== null && this.#regions.move(call.bucket, bucketEndpoint, actual)) return "moved";
    const isWrongRegion = status !== 400 || actual !== bucketEndpoint.region; // stores name the region in other refusals as well
    return failureOfStatus(call.subject, status, code, isWrongRegion ? actual : null);
  }

  /** Signs each attempt anew, because a signature is valid only for minutes. */
  #signed(call: S3Call, bucketEndpoint: BucketEndpoint, payloadHash: string): RawRequest {
    const path = objectPath(bucketEndpoint.basePath, call.key);
    const query = call.query === undefined ? "" : queryText(call.query);
    const headers = this.#sign(
      { method: call.method, path, query, headers: { ...call.headers, host: bucketEndpoint.host }, payloadHash },
      bucketEndpoint.region,
      this.#options.clock.now(),
    );
    return {
      origin: bucketEndpoint.origin,
      path: query === "" ? path : `${path}?${query}`,
      method: call.method,
      headers,
      body: call.body ?? null,
      timeoutMs: this.#timeoutOf(call),
    };
  }

  /** Some stores are silent until they have copied everything. */
  #timeoutOf({ copiedBytes = 0 }: S3Call): number | undefined {
    if (copiedBytes <= quickCopyBytes) return undefined;
    return this.#options.headersTimeoutMs + Math.ceil(copiedBytes / slowestCopyBytesPerMs);
  }

  async #payloadHash({ body, bucket }: S3Call): Promise<string> {
    if (body === undefined) return EMPTY_PAYLOAD_HASH;
    if (!Buffer.isBuffer(body)) {
      return this.#regions.endpointOf(bucket).isProtected ? UNSIGNED_PAYLOAD : hashOfStream(body);
    }
    if (body.length === 0) return EMPTY_PAYLOAD_HASH;
    if (this.#regions.endpointOf(bucket).isProtected) return UNSIGNED_PAYLOAD;
    if (body.length <= syncHashBytes) return hash("sha256", body);
    // Not on the main thread, because a part has megabytes. Our buffers are never in shared memory.
    const bytes = body as Uint8Array<ArrayBuffer>;
    return Buffer.from(await inDigest(() => webcrypto.subtle.digest("SHA-256", bytes))).toString("hex");
  }
}

/** A digest copies its bytes, so only a few are computed at the same time. */
const inDigest = limitConcurrency(2);

async function hashOfStream({ contents }: StreamedBody): Promise<string> {
  const sha256 = createHash("sha256");
  for await (const chunk of contents()) sha256.update(chunk);
  return sha256.digest("hex");
}

function isFailure(outcome: object): outcome is S3Failure {
  return "isTransient" in outcome;
}

/** The body of a response that is still being read. */
function streamOf(outcome: object | "moved" | undefined): BodyStream | null {
  return typeof outcome === "object" && "stream" in outcome && outcome.stream instanceof BodyStream
    ? outcome.stream
    : null;
}

function readOrFailure<T extends object>(answer: RawAnswer, read: (answer: RawAnswer) => T): T | S3Failure {
  try {
    return read(answer);
  } catch (error) {
    if (!(error instanceof ObjectStoreError)) throw error;
    return { error, isTransient: true, isSlowDown: false };
  }
}

function isError(bytes: Buffer): boolean {
  return bytes.length <= ERROR_LIMIT_BYTES && parseError(bytes).code !== null;
}
