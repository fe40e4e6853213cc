import { DEFAULT_AGENT_LIMITS } from "../../src/object-store/guarded-agent.ts";
import { RawClient } from "../../src/object-store/s3/raw-client.ts";
import type { RawConnectionOptions } from "../../src/object-store/s3/raw-connection.ts";
import type { RawRequest } from "../../src/object-store/s3/raw-request.ts";
import type { BodyStream } from "../../src/object-store/s3/response-body.ts";
import { afterTest } from "./raw-server.ts";

/** A client that is closed after the test. */
export function rawClientWith(options: Partial<RawConnectionOptions> = {}): RawClient {
  const client = new RawClient({ ...DEFAULT_AGENT_LIMITS, checkAddress: () => null, ...options });
  afterTest(() => client.close());
  return client;
}

export function getRequest(origin: string, path = "/b/k"): RawRequest {
  return { method: "GET", origin, path, headers: { host: "h", "x-a": "1" }, body: null };
}

/** The body of the server's answer, which has at most 100 bytes. */
export async function getText(client: RawClient, origin: string): Promise<string> {
  return (await client.send(getRequest(origin), Buffer.alloc(100), undefined)).bytes.toString();
}

export async function openStream(client: RawClient, origin: string, signal?: AbortSignal): Promise<BodyStream> {
  const { stream } = await client.send(getRequest(origin), "stream", signal);
  if (stream === null) throw new Error("the answer is an error");
  return stream;
}
