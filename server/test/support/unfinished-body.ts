import { once } from "node:events";
import { Agent, request as httpRequest, type ClientRequest } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { onTestFinished } from "vitest";

export interface UnfinishedBody {
  readonly answer: Promise<{ status: number; retryAfter: string | undefined; connection: string | undefined }>;
  readonly request: ClientRequest;
}

export interface BodyToBegin {
  /** The value of the header Content-Length. */
  readonly bytes: number | "chunked";
  readonly beginning?: string;
}

/** A submission that sends only the beginning of its body. The test may send more. */
export function beginBody(
  base: string,
  client: { token: string | undefined } | undefined,
  { bytes, beginning = '{"command_type": "' }: BodyToBegin,
): UnfinishedBody {
  const length: Record<string, string> =
    bytes === "chunked" ? { "Transfer-Encoding": "chunked" } : { "Content-Length": String(bytes) };
  const token: Record<string, string> = client?.token === undefined ? {} : { "X-AUTH-TOKEN": client.token };
  const { hostname, port } = new URL(base);
  const request = httpRequest({
    hostname,
    port,
    method: "POST",
    path: "/api/v1.2/commands",
    headers: { ...length, ...token },
    agent: new Agent({ keepAlive: true }),
  });
  request.on("error", () => undefined);
  request.write(beginning);
  onTestFinished(() => void request.destroy());
  const answer = once(request, "response").then(([response]) => ({
    status: response.statusCode,
    retryAfter: response.headers["retry-after"],
    connection: response.headers.connection,
  }));
  answer.catch(() => undefined);
  return { answer, request };
}

/** The status with which a body of this length is refused before it is sent; undefined: it is not. */
export async function refusalOf(
  base: string,
  client: { token: string | undefined },
  bytes: number,
): Promise<number | undefined> {
  const { answer, request } = beginBody(base, client, { bytes });
  try {
    return await Promise.race([answer.then(({ status }) => status), delay(200, undefined, { ref: false })]);
  } finally {
    request.destroy();
  }
}
