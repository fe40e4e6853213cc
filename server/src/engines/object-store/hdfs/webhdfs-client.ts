import type { Readable } from "node:stream";
import { setTimeout as pause } from "node:timers/promises";
import type { Dispatcher } from "undici";
import type { CheckAddress } from "../../../lib/guarded-lookup.ts";
import { isNestedDeeper } from "../../../lib/json-depth.ts";
import { failureOfConnection, unreadable } from "../connection-failure.ts";
import { readLimited } from "../read-limited.ts";
import { sendRequest } from "../send-request.ts";
import { sendBody } from "./send-body.ts";
import { refusalOf } from "./webhdfs-failure.ts";

export interface WebHdfsOptions {
  /** `http(s)://host[:port][/path]`, of a NameNode or a gateway before it. */
  address: string;
  /** Who we say we are: HDFS without Kerberos believes it. */
  user: string;
  dispatcher: Dispatcher;
  /** For what is sent past the dispatcher. */
  checkAddress: CheckAddress;
  idleTimeoutMs: number;
  /** After the first try, of calls that only read. */
  retries: number;
}

export interface WebHdfsCall {
  method: "GET" | "PUT" | "DELETE";
  operation: string;
  /** Absolute; its characters mean themselves. */
  path: string;
  query?: Readonly<Record<string, string>>;
  /** What error messages are about. */
  subject: string;
  signal?: AbortSignal | undefined;
}

type Response = Dispatcher.ResponseData;

const textLimitBytes = 4 * 1024 * 1024; // 1,000 entries of a folder with the longest names
const errorLimitBytes = 64 * 1024;
/** Those of a folder have six levels. A deep one of this size would take hundreds of MB when it is parsed. */
const deepest = 16;
const pauseMs = 200;

/**
 * Sends calls to WebHDFS. Bytes of files come from and go to the machine that holds them: the NameNode names it by a
 * redirect. That address is somebody else's word and is connected to under the same check as the first; it may be
 * neither another protocol nor another path, and there is only one redirect.
 */
export class WebHdfsClient {
  readonly #options: WebHdfsOptions;

  constructor(options: WebHdfsOptions) {
    this.#options = options;
  }

  /** The document of an answer; undefined where there is none. */
  async document(call: WebHdfsCall): Promise<unknown> {
    const { body } = await this.#repeated(call, () => this.#final(call, this.#urlOf(call)));
    const text = await this.#whole(call, body);
    try {
      if (isNestedDeeper(Buffer.from(text), deepest)) throw new Error("the answer is nested too deeply");
      return text === "" ? undefined : JSON.parse(text);
    } catch (error) {
      throw unreadable(call.subject, error);
    }
  }

  /** The bytes of a file; the caller reads or destroys them. */
  async open(call: WebHdfsCall): Promise<Response> {
    return this.#repeated(call, async () => {
      const first = await this.#request(call, this.#urlOf(call));
      if (!isRedirect(first)) return first; // a gateway gives them itself
      const url = this.#targetOf(call, first);
      await first.body.dump();
      return this.#final(call, url);
    });
  }

  /** Nothing of the body is sent before it is known where it goes. */
  async create(call: WebHdfsCall, body: Readable | Buffer): Promise<void> {
    const first = await this.#repeated(call, () => this.#request(call, this.#urlOf(call)));
    if (!isRedirect(first)) {
      await first.body.dump();
      throw unreadable(call.subject, new Error("it does not say where the bytes go"));
    }
    const url = this.#targetOf(call, first);
    await first.body.dump();
    await this.#send(call, url, body);
  }

  async #repeated<T>(call: WebHdfsCall, attempt: () => Promise<T>): Promise<T> {
    for (let tried = 0; ; tried += 1) {
      try {
        return await attempt();
      } catch (error) {
        const isPassing = error instanceof PassingFailure && call.method === "GET" && tried < this.#options.retries;
        if (!isPassing) throw error instanceof PassingFailure ? error.cause : error;
        await pause(pauseMs * 2 ** tried, undefined, { signal: call.signal }).catch(() => undefined);
      }
    }
  }

  async #send(call: WebHdfsCall, url: URL, body: Readable | Buffer): Promise<void> {
    let answer: { statusCode: number; text: string };
    try {
      answer = await sendBody(url, body, { ...this.#options, signal: call.signal });
    } catch (error) {
      call.signal?.throwIfAborted();
      throw failureOfConnection(call.subject, error).error;
    }
    if (answer.statusCode >= 300) throw refusalOf(call.subject, answer.statusCode, answer.text).error;
  }

  async #request(call: WebHdfsCall, url: URL): Promise<Response> {
    call.signal?.throwIfAborted();
    let response: Response;
    try {
      const request = { origin: url.origin, path: `${url.pathname}${url.search}`, method: call.method };
      response = await sendRequest(this.#options.dispatcher, request, call.signal);
    } catch (error) {
      call.signal?.throwIfAborted();
      throw thrown(failureOfConnection(call.subject, error));
    }
    if (response.statusCode < 300 || isRedirect(response)) return response;
    const text = await readLimited(response.body, errorLimitBytes).catch(() => "");
    throw thrown(refusalOf(call.subject, response.statusCode, text));
  }

  async #final(call: WebHdfsCall, url: URL): Promise<Response> {
    const response = await this.#request(call, url);
    if (!isRedirect(response)) return response;
    await response.body.dump();
    throw unreadable(call.subject, new Error("it sends us on where it should answer"));
  }

  async #whole({ subject, signal }: WebHdfsCall, body: Response["body"]): Promise<string> {
    try {
      return await readLimited(body, textLimitBytes);
    } catch (error) {
      signal?.throwIfAborted();
      throw failureOfConnection(subject, error).error;
    }
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
      throw unreadable(subject, new Error("the redirect leads nowhere"));
    }
    return url;
  }
}

/** Carries what is thrown when it does not pass. */
class PassingFailure extends Error {}

function thrown({ error, isPassing }: { error: Error; isPassing: boolean }): Error {
  return isPassing ? new PassingFailure("may pass", { cause: error }) : error;
}

function isRedirect({ statusCode }: Response): boolean {
  return statusCode === 307;
}
