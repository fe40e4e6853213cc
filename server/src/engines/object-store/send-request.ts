import type { Dispatcher } from "undici";
import { unlessAborted } from "../../lib/unless-aborted.ts";

/** The signal aborts the request at any time; undici itself checks it only after connecting. */
export async function sendRequest(
  dispatcher: Dispatcher,
  options: Dispatcher.RequestOptions,
  signal: AbortSignal | undefined,
): Promise<Dispatcher.ResponseData> {
  if (signal === undefined) return dispatcher.request(options);
  const answer = dispatcher.request({ ...options, signal });
  return unlessAborted(signal, answer, ({ body }) => void body.dump().catch(() => undefined));
}
