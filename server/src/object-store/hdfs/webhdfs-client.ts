import type { Readable } from "node:stream";
import type { Dispatcher } from "undici";
import type { CheckAddress } from "../../lib/guarded-lookup.ts";
import { isNestedDeeper } from "../../lib/json-depth.ts";
import {
  failureOfConnection,
  unreadable,
  descriptions,
  type Failure,
  ObjectStoreError,
  type ObjectStoreErrorKind,
} from "../object-store-error.ts";
import { readLimited, readLimitedBytes, sendRequest } from "../guarded-agent.ts";
import { pauseBeforeRetry } from "../retry-pause.ts";
import { sendBody } from "./send-body.ts";

interface WebHdfsOptions {
  /** `http(s)://host[:port][/path]` of a NameNode or of a gateway in front of it. */
  address: string;
  /** Our user name, which HDFS without Kerberos does not verify. */
  user: string;
  dispatcher: Dispatcher;
  /** For file bodies, which are not sent by the dispatcher. */
  checkAddress: CheckAddress;
  idleTimeoutMs: number;
  /** Retries after the first attempt. */
  retries: number;
  /** Retry also if no connection could be made or the server was silent. */
  retriesTimeouts: boolean;
}

/**
 * Most calls may be repeated. A repeated RENAME fails if the first one succeeded: see `onUnknownOutcome`. A repeated DELETE
 * may delete what was written after the first one: see `isSentOnce`.
 */
interface WebHdfsCall {
  method: "GET" | "PUT" | "DELETE";
  operation: string;
  /** An absolute path without escapes. */
  path: string;
  query?: Readonly<Record<string, string>>;
  /** The start of error messages. */
  subject: string;
  signal?: AbortSignal | undefined;
  /** Called when HDFS may have carried out the call although there is no answer. */
  onUnknownOutcome?: () => void;
  /** No retries. */
  isSentOnce?: boolean;
}

type Response = Dispatcher.ResponseData;

const textLimitBytes = 4 * 1024 * 1024; // enough for a page of 1,000 entries with the longest names
const errorLimitBytes = 64 * 1024;
/** Listings have six levels. Parsing a deeply nested document of the size limit would take hundreds of MB. */
const maxDepth = 16;

/**
 * Sends calls to WebHDFS. The NameNode redirects reads and writes of files to the DataNode that holds them. The address of
 * a redirect is untrusted: it is checked like the first one, must have the same protocol and a WebHDFS path, and must not
 * redirect again.
 */
export class WebHdfsClient {
  readonly #options: WebHdfsOptions;
  #retryCount = 0;

  constructor(options: WebHdfsOptions) {
    this.#options = options;
  }

  /** Calls that were repeated so far. */
  get retryCount(): number {
    return this.#retryCount;
  }

  /** The JSON document of a response; undefined if it is empty. */
  async document(call: WebHdfsCall): Promise<unknown> {
    const text = await this.#repeated(call, async () => {
      const { body } = await this.#final(call, this.#urlOf(call));
      return this.#whole(call, () => readLimited(body, textLimitBytes));
    });
    try {
      if (isNestedDeeper(Buffer.from(text), maxDepth)) {
        throw new Error(`the response is nested more than ${maxDepth} levels deep`);
      }
      return text === "" ? undefined : JSON.parse(text);
    } catch (error) {
      throw unreadable(call.subject, error);
    }
  }

  /** Opens a file. The caller must read or destroy the body. */
  async open(call: WebHdfsCall): Promise<Response> {
    return this.#repeated(call, () => this.#openOnce(call));
  }

  /** Reads a range of a file, of this length, into memory. */
  async read(call: WebHdfsCall, length: number): Promise<Buffer> {
    return this.#repeated(call, async () => {
      const { body } = await this.#openOnce(call);
      const bytes = await this.#whole(call, () => readLimitedBytes(body, length));
      if (bytes.length === length) return bytes;
      const error = unreadable(call.subject, new Error("the response is shorter than requested"));
      throw thrown({ error, isTransient: true });
    });
  }

  /** Sends the body only to the target of the redirect. A body that is not in memory can be sent only once. */
  async create(call: WebHdfsCall, body: Readable | Buffer): Promise<void> {
    if (Buffer.isBuffer(body)) {
      await this.#repeated(call, async () => this.#send(call, await this.#dataNodeFor(call), body));
      return;
    }
    const url = await this.#repeated(call, () => this.#dataNodeFor(call));
    await this.#repeated(call, () => this.#send(call, url, body), 0);
  }

  async #repeated<T>(
    call: WebHdfsCall,
    attempt: () => Promise<T>,
    retries: number = this.#options.retries,
  ): Promise<T> {
    for (let tried = 0; ; tried += 1) {
      try {
        return await attempt();
      } catch (error) {
        if (!(error instanceof TransientFailure)) throw error;
        call.onUnknownOutcome?.();
        if (tried >= retries || call.isSentOnce === true) throw error.cause;
        await pauseBeforeRetry(tried, call.signal);
        this.#retryCount += 1;
      }
    }
  }

  async #openOnce(call: WebHdfsCall): Promise<Response> {
    const first = await this.#request(call, this.#urlOf(call));
    if (!isRedirect(first)) return first; // a gateway sends the file itself
    const url = this.#targetOf(call, first);
    await first.body.dump();
    return this.#final(call, url);
  }

  async #dataNodeFor(call: WebHdfsCall): Promise<URL> {
    const first = await this.#request(call, this.#urlOf(call));
    await first.body.dump();
    if (isRedirect(first)) return this.#targetOf(call, first);
    throw unreadable(call.subject, new Error("the response is not a redirect to a DataNode"));
  }

  async #send(call: WebHdfsCall, url: URL, body: Readable | Buffer): Promise<void> {
    let answer: { statusCode: number; text: string };
    try {
      answer = await sendBody(url, body, { ...this.#options, signal: call.signal });
    } catch (error) {
      throw this.#broken(call, error);
    }
    if (answer.statusCode >= 300) throw thrown(refusalOf(call.subject, answer.statusCode, answer.text));
  }

  async #request(call: WebHdfsCall, url: URL): Promise<Response> {
    call.signal?.throwIfAborted();
    let response: Response;
    try {
      const request = { origin: url.origin, path: `${url.pathname}${url.search}`, method: call.method };
      response = await sendRequest(this.#options.dispatcher, request, call.signal);
    } catch (error) {
      throw this.#broken(call, error);
    }
    if (response.statusCode < 300 || isRedirect(response)) return response;
    const text = await readLimited(response.body, errorLimitBytes).catch(() => "");
    throw thrown(refusalOf(call.subject, response.statusCode, text));
  }

  async #final(call: WebHdfsCall, url: URL): Promise<Response> {
    const response = await this.#request(call, url);
    if (!isRedirect(response)) return response;
    await response.body.dump();
    throw unreadable(call.subject, new Error("the response is another redirect"));
  }

  async #whole<T>(call: WebHdfsCall, read: () => Promise<T>): Promise<T> {
    try {
      return await read();
    } catch (error) {
      throw this.#broken(call, error);
    }
  }

  /** Throws the reason of the signal if that is why the connection broke. */
  #broken({ subject, signal }: WebHdfsCall, error: unknown): Error {
    signal?.throwIfAborted();
    return thrown(failureOfConnection(subject, error, this.#options.retriesTimeouts));
  }

  #urlOf({ operation, path, query }: WebHdfsCall): URL {
    const { address, user } = this.#options;
    const url = new URL(
      `${address.replace(/\/+$/, "")}/webhdfs/v1${path.split("/").map(encodeURIComponent).join("/")}`,
    );
    url.search = new URLSearchParams({ op: operation, "user.name": user, ...query }).toString();
    return url;
  }

  #targetOf({ subject }: WebHdfsCall, { headers }: Response): URL {
    const location = headers["location"];
    const url = typeof location === "string" && URL.canParse(location) ? new URL(location) : null;
    const { protocol } = new URL(this.#options.address);
    if (url === null || url.protocol !== protocol || url.username !== "" || !url.pathname.includes("/webhdfs/v1/")) {
      throw unreadable(subject, new Error("the redirect has no valid target"));
    }
    return url;
  }
}

/** Its cause is thrown when there are no retries left. */
class TransientFailure extends Error {}

function thrown({ error, isTransient }: { error: Error; isTransient: boolean }): Error {
  return isTransient ? new TransientFailure("transient", { cause: error }) : error;
}

function isRedirect({ statusCode }: Response): boolean {
  return statusCode === 307;
}

/** By the class of the Java exception, which is more specific than the status: most have 403. */
const kindOfException: ReadonlyMap<string, ObjectStoreErrorKind> = new Map([
  ["FileNotFoundException", "missing"],
  ["ParentNotDirectoryException", "missing"],
  ["AccessControlException", "denied"],
  ["SecurityException", "denied"],
  ["AuthenticationException", "denied"],
  ["InvalidToken", "denied"],
  ["StandbyException", "unreachable"],
  ["RetriableException", "unreachable"],
  ["SafeModeException", "unreachable"],
  ["DSQuotaExceededException", "no-space"],
  ["NSQuotaExceededException", "no-space"],
  ["QuotaByStorageTypeExceededException", "no-space"],
]);
const transientExceptions: readonly string[] = ["RetriableException"];
const transientStatuses: readonly number[] = [429, 502, 503, 504];

/** Translates an error response. Pure. */
function refusalOf(subject: string, status: number, body: string): Failure {
  const exception = exceptionIn(body);
  const kind =
    (exception === null ? undefined : kindOfException.get(exception)) ?? kindOfStatus(status, exception !== null);
  const reason = exception === null ? String(status) : `${status} ${exception}`;
  return {
    error: new ObjectStoreError(kind, `${subject}: ${descriptions[kind]} (${reason})`, {
      code: exception ?? undefined,
    }),
    isTransient: transientStatuses.includes(status) || (exception !== null && transientExceptions.includes(exception)),
  };
}

function kindOfStatus(status: number, hasException: boolean): ObjectStoreErrorKind {
  if (status === 429 || status >= 500) return "unreachable";
  if (status === 404) return "missing";
  if ((status === 401 || status === 403) && !hasException) return "denied";
  return "bad-request";
}

/** The only text of the server that error messages contain, so it must be a single word. */
function exceptionIn(body: string): string | null {
  try {
    const { RemoteException: details } = JSON.parse(body) as { RemoteException?: { exception?: unknown } }; // checked next
    const name = details?.exception;
    return typeof name === "string" && /^[A-Za-z]{1,64}$/.test(name) ? name : null;
  } catch {
    return null; // not JSON, for example a proxy's error page, or truncated
  }
}
