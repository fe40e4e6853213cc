import { createHash, webcrypto } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import aws4 from "aws4";
import type { Dispatcher } from "undici";
import type { Clock } from "../../../lib/clock.ts";
import {
  failureOfConnection,
  type Failure,
  descriptions,
  ObjectStoreError,
  type ObjectStoreErrorKind,
} from "../object-store-error.ts";
import { readLimited, sendRequest } from "../guarded-agent.ts";
import { queryText, s3Address, type S3Endpoint } from "./s3-address.ts";
import { parseErrorCode } from "./s3-xml.ts";

export interface S3Credentials {
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken?: string | undefined;
}

interface S3ClientOptions extends S3Endpoint {
  credentials: S3Credentials;
  dispatcher: Dispatcher;
  clock: Clock;
  /** Number of retries after the first attempt. */
  retries: number;
}

/** Every call may be repeated: S3 answers a repeated part or completion like the first. */
export interface S3Call {
  method: "GET" | "HEAD" | "PUT" | "POST" | "DELETE";
  bucket: string;
  key: string;
  query?: Readonly<Record<string, string>>;
  headers?: Readonly<Record<string, string>>;
  body?: Buffer;
  /** The start of error messages. */
  subject: string;
  signal?: AbortSignal | undefined;
}

export type S3Response = Dispatcher.ResponseData;

const emptySha256 = createHash("sha256").digest("hex");
const errorLimitBytes = 64 * 1024;
const textLimitBytes = 4 * 1024 * 1024; // a page of 1,000 keys of 1,024 bytes, each percent-encoded
const firstPauseMs = 100;
const maxPauseMs = 5_000;

/** Signs and sends calls, retries transient failures and translates errors to `ObjectStoreError`. */
export class S3Client {
  readonly #options: S3ClientOptions;

  constructor(options: S3ClientOptions) {
    this.#options = options;
  }

  /** Returns only successful responses, whose body the caller must read or dump. Redirects are errors, never followed. */
  async send(call: S3Call): Promise<S3Response> {
    const sha256 = call.body === undefined ? emptySha256 : await sha256Hex(call.body);
    for (let attempt = 0; ; attempt += 1) {
      call.signal?.throwIfAborted();
      const outcome = await this.#attempt(call, sha256);
      if (!("error" in outcome)) return outcome;
      if (!outcome.isTransient || attempt >= this.#options.retries) throw outcome.error;
      await pause(pauseMs(attempt, Math.random()), undefined, { signal: call.signal }).catch(() => undefined);
    }
  }

  /** For responses that are a small document. */
  async sendForText(call: S3Call): Promise<string> {
    const { body } = await this.send(call);
    try {
      return await readLimited(body, textLimitBytes);
    } catch (error) {
      call.signal?.throwIfAborted();
      throw failureOfConnection(call.subject, error).error;
    }
  }

  /** For responses whose body is not needed. */
  async sendForHeaders(call: S3Call): Promise<S3Response["headers"]> {
    const { body, headers } = await this.send(call);
    await body.dump().catch(() => undefined); // the call has succeeded: its status has arrived
    return headers;
  }

  async #attempt(call: S3Call, sha256: string): Promise<S3Response | Failure> {
    try {
      const request = { ...this.#signed(call, sha256), method: call.method, body: call.body ?? null };
      const response = await sendRequest(this.#options.dispatcher, request, call.signal);
      if (response.statusCode >= 200 && response.statusCode < 300) return response;
      const code = parseErrorCode(await readLimited(response.body, errorLimitBytes).catch(() => ""));
      return failureOfStatus(call.subject, response.statusCode, code, regionOf(response));
    } catch (error) {
      call.signal?.throwIfAborted();
      return failureOfConnection(call.subject, error);
    }
  }

  /** Signs each attempt anew, because a signature is valid only for minutes. */
  #signed(call: S3Call, sha256: string): { origin: string; path: string; headers: Record<string, string> } {
    const { credentials, region, clock } = this.#options;
    const { origin, host, path } = s3Address(this.#options, call.bucket, call.key);
    const signed = aws4.sign(
      {
        service: "s3",
        region,
        method: call.method,
        path: `${path}${queryText(call.query ?? {})}`,
        headers: {
          ...call.headers,
          host,
          "x-amz-content-sha256": sha256,
          "x-amz-date": clock
            .now()
            .toISOString()
            .replaceAll(/[-:]|\.\d{3}/g, ""),
        },
      },
      {
        accessKeyId: credentials.accessKeyId,
        secretAccessKey: credentials.secretAccessKey,
        ...(credentials.sessionToken === undefined ? {} : { sessionToken: credentials.sessionToken }),
      },
    );
    // The signer has the types of node:http; all our headers and those it adds are strings.
    return { origin, path: signed.path ?? path, headers: signed.headers as Record<string, string> };
  }
}

async function sha256Hex(body: Buffer): Promise<string> {
  // Not on the main thread, because a part has megabytes. Our buffers are never on shared memory.
  return Buffer.from(await webcrypto.subtle.digest("SHA-256", body as Uint8Array<ArrayBuffer>)).toString("hex");
}

/** S3 returns the region of a bucket if the request went to another region. */
function regionOf({ statusCode, headers }: S3Response): string | null {
  const region = headers["x-amz-bucket-region"];
  const isWrongRegion = statusCode === 400 || (statusCode >= 300 && statusCode < 400);
  return isWrongRegion && typeof region === "string" && /^[a-z0-9-]{1,32}$/.test(region) ? region : null;
}

/** Exponential backoff, half of it random, so that calls that failed together are not retried together. */
function pauseMs(attempt: number, random: number): number {
  return Math.min(firstPauseMs * 2 ** attempt, maxPauseMs) * (0.5 + random / 2);
}

/** Error codes that are more specific than their status. */
const kindOfCode: ReadonlyMap<string, ObjectStoreErrorKind> = new Map([
  ["ExpiredToken", "denied"],
  ["InvalidToken", "denied"],
  ["TokenRefreshRequired", "denied"],
  ["InvalidAccessKeyId", "denied"],
  ["SignatureDoesNotMatch", "denied"],
  ["EntityTooLarge", "too-large"],
  ["QuotaExceeded", "no-space"],
  ["XMinioStorageFull", "no-space"],
]);
const transientStatuses: readonly number[] = [429, 500, 502, 503, 504];

/** Translates an error response. Pure. */
function failureOfStatus(subject: string, status: number, code: string | null, region: string | null): Failure {
  const kind = (code === null ? undefined : kindOfCode.get(code)) ?? kindOfStatus(status);
  const reason = [status >= 100 ? String(status) : "", code ?? ""].filter((text) => text !== "").join(" ");
  const actualRegion = region === null ? "" : `; the bucket is in the region ${region}`;
  const skewed = code === "RequestTimeTooSkewed" ? "; the clock of this server or of the store is wrong" : "";
  return {
    error: new ObjectStoreError(kind, `${subject}: ${descriptions[kind]} (${reason})${actualRegion}${skewed}`, {
      code: code ?? undefined,
    }),
    isTransient: transientStatuses.includes(status),
  };
}

function kindOfStatus(status: number): ObjectStoreErrorKind {
  if (status === 401 || status === 403) return "denied";
  if (status === 404) return "missing";
  if (status === 413) return "too-large";
  if (status === 416) return "bad-range";
  if (status === 507) return "no-space";
  if (status === 429 || status >= 500) return "unreachable";
  if (status >= 300) return "bad-request";
  return "bad-response";
}
