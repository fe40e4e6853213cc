import type { Dispatcher } from "undici";
import { unlessAborted } from "../../lib/unless-aborted.ts";

/** The signal ends it at any point: by itself undici looks at it only once there is a connection, or none in time. */
export async function sendRequest(
  dispatcher: Dispatcher,
  options: Dispatcher.RequestOptions,
  signal: AbortSignal | undefined,
): Promise<Dispatcher.ResponseData> {
  if (signal === undefined) return dispatcher.request(options);
  const answer = dispatcher.request({ ...options, signal });
  return unlessAborted(signal, answer, ({ body }) => void body.dump().catch(() => undefined));
}
