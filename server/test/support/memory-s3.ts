/**
 * A server that answers as S3 does, for tests that need many objects or a store that misbehaves. It has one bucket, which
 * every name means, checks no signatures and ignores conditions of deletes, as some stores do.
 */
import { hash } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll } from "vitest";

export interface MemoryS3 {
  /** The account's `s3`. */
  readonly account: {
    endpoint: string;
    readonly region: string;
    readonly credentials: { readonly accessKeyId: string; readonly secretAccessKey: string };
  };
  readonly objects: Map<string, string>;
  /** Keys per page of a listing. */
  pageSize: number;
  /** Called before each request is answered. A returned text is the answer, with the status 200; a number is its status. */
  onRequest: (request: MemoryS3Request) => string | number | undefined;
}

export interface MemoryS3Request {
  readonly method: string;
  readonly key: string;
  readonly query: URLSearchParams;
  readonly body: string;
}

export function useMemoryS3(): MemoryS3 {
  const credentials = { accessKeyId: "any", secretAccessKey: "any" };
  const account = { endpoint: "", region: "us-east-1", credentials };
  const s3: MemoryS3 = { account, objects: new Map(), pageSize: 1000, onRequest: () => undefined };
  const server = createServer((request, response) => {
    void answer(s3, request, response).catch(() => request.socket.destroy());
  });
  beforeAll(async () => {
    await once(server.listen(0, "127.0.0.1"), "listening");
    account.endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`; // a TCP server has a port
  });
  afterAll(() => server.close().closeAllConnections());
  return s3;
}

async function answer(s3: MemoryS3, incoming: IncomingMessage, response: ServerResponse): Promise<void> {
  const { method = "", url = "" } = incoming;
  const [path = "", search] = url.split("?"); // a URL would resolve `..`, which can be part of a key
  const query = new URLSearchParams(search);
  const key = decodeURIComponent(path.replace(/^\/[^/]+\/?/, ""));
  const request = { method, key, query, body: await text(incoming) };
  const decided = s3.onRequest(request);
  if (typeof decided === "number") response.writeHead(decided).end();
  else if (decided !== undefined) response.end(decided);
  else if (query.has("delete")) response.end(deleteListed(s3, request.body));
  else if (query.has("list-type")) response.end(listPage(s3, query));
  else answerObject(s3, request, response);
}

function answerObject({ objects }: MemoryS3, { method, key, body }: MemoryS3Request, response: ServerResponse): void {
  if (method === "DELETE") {
    objects.delete(key);
    response.writeHead(204).end();
    return;
  }
  if (method === "PUT") objects.set(key, body);
  const contents = objects.get(key);
  if (contents === undefined) {
    response.writeHead(404).end();
    return;
  }
  const length = method === "PUT" ? 0 : Buffer.byteLength(contents);
  response.writeHead(200, { etag: `"${hash("md5", contents)}"`, "last-modified": TIME, "content-length": length });
  response.end(method === "GET" ? contents : "");
}

const TIME = new Date(0).toUTCString();

function deleteListed({ objects }: MemoryS3, body: string): string {
  for (const [, key = ""] of body.matchAll(/<Key>(.*?)<\/Key>/g)) objects.delete(key);
  return "<DeleteResult></DeleteResult>";
}

/** The continuation token is the last key of the previous page. */
export function listPage({ objects, pageSize }: MemoryS3, query: URLSearchParams): string {
  const prefix = query.get("prefix") ?? "";
  const after = query.get("continuation-token") ?? query.get("start-after") ?? "";
  const limit = Math.min(pageSize, Number(query.get("max-keys") ?? "1000"));
  const found = [...objects.keys()].filter((key) => key.startsWith(prefix) && key > after).sort();
  const page = found.slice(0, limit);
  const token = found.length > page.length ? page.at(-1) : undefined;
  return `<ListBucketResult>${page.map((key) => entryOf(key, objects.get(key) ?? "")).join("")}${endOf(token)}</ListBucketResult>`;
}

function entryOf(key: string, contents: string): string {
  const size = Buffer.byteLength(contents);
  const etag = hash("md5", contents);
  return `<Contents><Key>${key}</Key><LastModified>1970-01-01T00:00:00.000Z</LastModified><ETag>"${etag}"</ETag><Size>${size}</Size></Contents>`;
}

function endOf(token: string | undefined): string {
  if (token === undefined) return "<IsTruncated>false</IsTruncated>";
  return `<IsTruncated>true</IsTruncated><NextContinuationToken>${token}</NextContinuationToken>`;
}
