import { request as httpRequest, type Agent } from "node:http";
import { connect } from "node:net";
import type { Reply } from "./client.ts";

/** A request exactly as given: fetch would refuse a body on GET and normalise paths and headers. */
export interface RawRequest {
  method: string;
  /** Exactly as in the request line. */
  path: string;
  headers?: Record<string, string>;
  body?: string | Buffer;
  /** Keeps connections for many requests; by default each has its own. */
  agent?: Agent;
  /** A Unix socket to connect to, instead of the server's port. */
  socketPath?: string;
}

export async function rawRequest(base: string, request: RawRequest): Promise<Reply> {
  const { method, path, headers = {}, body, agent = false, socketPath } = request;
  const { hostname, port } = new URL(base);
  const peer = socketPath === undefined ? { hostname, port } : { socketPath };
  return new Promise((resolve, reject) => {
    const outgoing = httpRequest({ ...peer, method, path, headers, agent }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("error", reject);
      response.on("end", () => {
        const text = Buffer.concat(chunks).toString("utf8");
        const replyHeaders = new Headers(
          Object.entries(response.headers).map(([name, value]): [string, string] => [name, String(value)]),
        );
        const isJson = replyHeaders.get("content-type")?.startsWith("application/json") ?? false;
        const isEmpty = text === "";
        resolve({
          status: response.statusCode ?? 0,
          headers: replyHeaders,
          text,
          body: isJson && !isEmpty ? JSON.parse(text) : undefined,
        });
      });
    });
    outgoing.on("error", reject);
    if (body !== undefined && headers["Content-Length"] === undefined && headers["Transfer-Encoding"] === undefined) {
      outgoing.setHeader("Content-Length", Buffer.byteLength(body));
    }
    outgoing.end(body);
  });
}

/** The same with a client's token; GET by default. */
export async function sendAs(
  base: string,
  client: { token: string | undefined } | undefined,
  request: Partial<RawRequest> & { path: string },
): Promise<Reply> {
  const token: Record<string, string> = client?.token === undefined ? {} : { "X-AUTH-TOKEN": client.token };
  return rawRequest(base, { method: "GET", ...request, headers: { ...token, ...request.headers } });
}

/** Sends raw bytes, for requests that are not valid HTTP. */
export async function rawSocket(base: string, bytes: string): Promise<Reply> {
  const { hostname, port } = new URL(base);
  const text = await new Promise<string>((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => socket.write(bytes));
    let received = "";
    socket.on("data", (chunk) => {
      received += chunk.toString("utf8");
    });
    socket.on("error", reject);
    socket.on("close", () => resolve(received));
  });
  return parseReply(text);
}

function parseReply(text: string): Reply {
  const [head = "", ...rest] = text.split("\r\n\r\n");
  const [statusLine = "", ...lines] = head.split("\r\n");
  const headers = new Headers(
    lines.map((line): [string, string] => {
      const colon = line.indexOf(":");
      return [line.slice(0, colon), line.slice(colon + 1).trim()];
    }),
  );
  const body = rest.join("\r\n\r\n");
  return { status: Number(statusLine.split(" ")[1]), headers, text: body, body: JSON.parse(body) };
}
