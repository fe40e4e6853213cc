import { request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { isIP } from "node:net";
import { pipeline, type Readable } from "node:stream";
import { guardedLookup, type CheckAddress } from "../../../lib/guarded-lookup.ts";
import { refusedAddress } from "../guarded-agent.ts";
import { readLimited } from "../read-limited.ts";

export interface SendOptions {
  checkAddress: CheckAddress;
  /** Timeout for connecting and for inactivity. */
  idleTimeoutMs: number;
  signal?: AbortSignal | undefined;
}

const answerLimitBytes = 64 * 1024;

/**
 * Sends the bytes of a file to a DataNode on a connection of its own. Does not use undici, which rejects the unsolicited
 * `100 Continue` that DataNodes send.
 */
export async function sendBody(
  url: URL,
  body: Readable | Buffer,
  { checkAddress, idleTimeoutMs, signal }: SendOptions,
): Promise<{ statusCode: number; text: string }> {
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  const refusal = isIP(host) === 0 ? null : checkAddress(host);
  if (refusal !== null) throw refusedAddress(refusal);
  const length = Buffer.isBuffer(body) ? { "content-length": String(body.length) } : {};
  const request = (url.protocol === "https:" ? httpsRequest : httpRequest)(url, {
    method: "PUT",
    agent: false,
    lookup: guardedLookup(checkAddress, refusedAddress),
    headers: { "content-type": "application/octet-stream", ...length },
    timeout: idleTimeoutMs,
    ...(signal === undefined ? {} : { signal }),
  });
  const answered = Promise.withResolvers<IncomingMessage>();
  request.once("response", answered.resolve);
  request.on("error", answered.reject);
  request.once("timeout", () =>
    request.destroy(Object.assign(new Error("the connection is inactive"), { code: "ETIMEDOUT" })),
  );
  if (Buffer.isBuffer(body)) request.end(body);
  else pipeline(body, request, (error) => (error === null || error === undefined ? undefined : answered.reject(error)));
  const response = await answered.promise;
  try {
    return { statusCode: response.statusCode ?? 0, text: await readLimited(response, answerLimitBytes) };
  } finally {
    request.destroy();
  }
}
