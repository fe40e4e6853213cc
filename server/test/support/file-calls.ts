import { once } from "node:events";
import { request as httpRequest, type ClientRequest, type IncomingMessage } from "node:http";
import type { Client, Reply } from "./client.ts";
import { sendAs } from "./raw-request.ts";

export const FILES = "/api/v2/files";

/** The path is sent as it is, without the changes that fetch would make. */
export async function upload(
  client: Client,
  path: string,
  body: string | Buffer,
  headers: Record<string, string> = {},
): Promise<Reply> {
  return sendAs(client.base, client, { method: "PUT", path: `${FILES}/${path}`, body, headers });
}

export async function download(client: Client, path: string, headers: Record<string, string> = {}): Promise<Reply> {
  return sendAs(client.base, client, { path: `${FILES}/${path}`, headers });
}

/** An upload whose body the test sends. */
export interface BegunUpload {
  readonly request: ClientRequest;
  readonly answer: Promise<{ readonly status: number; readonly text: string }>;
}

export function beginUpload(client: Client, path: string, headers: Record<string, string>): BegunUpload {
  const { hostname, port } = new URL(client.base);
  const token: Record<string, string> = client.token === undefined ? {} : { "X-AUTH-TOKEN": client.token };
  const options = { hostname, port, method: "PUT", path: `${FILES}/${path}`, headers: { ...token, ...headers } };
  const request = httpRequest({ ...options, agent: false });
  request.on("error", () => undefined);
  const answer = once(request, "response").then(async ([response]: IncomingMessage[]) => {
    const chunks = response === undefined ? [] : await Array.fromAsync(response as AsyncIterable<Buffer>);
    return { status: response?.statusCode ?? 0, text: Buffer.concat(chunks).toString("utf8") };
  });
  answer.catch(() => undefined); // the test may break the connection
  return { request, answer };
}
