import { get as httpGet, type IncomingMessage } from "node:http";
import type { AccountClient, Given } from "./given.ts";
import { numberedBatch } from "./numbered-batches.ts";

/** Yields `count` batches of numbered rows. */
export function* numbered(count: number): Generator<ReturnType<typeof numberedBatch>> {
  for (let n = 0; n < count; n++) yield numberedBatch(n);
}

/** The raw response, which a test can read or leave unread. */
export function streamed(given: Given, account: AccountClient, path: string): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const headers = { "X-AUTH-TOKEN": account.token ?? "" };
    httpGet(`${given.base}/api/v1.2${path}`, { headers, agent: false }, resolve).on("error", reject);
  });
}

export async function sizeOf(stream: IncomingMessage): Promise<number> {
  let size = 0;
  for await (const piece of stream as AsyncIterable<Buffer>) size += piece.length;
  return size;
}
