import { Agent, request } from "node:http";

export interface Sent {
  /** The status, or the error code if there was no response. */
  readonly status: string;
  readonly milliseconds: number;
  readonly text: string;
}

export interface RequestToSend {
  readonly method?: string;
  readonly path: string;
  readonly token: string;
  readonly body?: Buffer | string;
  /** Default: a keep-alive connection. */
  readonly agent?: Agent | false;
  readonly timeoutMs?: number;
}

const TIMEOUT_MS = 30_000;
const kept = new Agent({ keepAlive: true });

/** Never fails: a request without a response is counted too. */
export function send(
  url: string,
  { method = "GET", path, token, body, agent, timeoutMs }: RequestToSend,
): Promise<Sent> {
  const began = performance.now();
  return new Promise((resolve) => {
    const finish = (status: string, text = ""): void =>
      resolve({ status, milliseconds: performance.now() - began, text });
    const sent = request(`${url}/api/v1.2${path}`, {
      method,
      agent: agent ?? kept,
      headers: { "X-AUTH-TOKEN": token, "Content-Type": "application/json" },
      signal: AbortSignal.timeout(timeoutMs ?? TIMEOUT_MS),
    });
    sent.on("error", (error: NodeJS.ErrnoException) => finish(error.code ?? error.name));
    sent.on("response", (response) => {
      const parts: string[] = [];
      response.setEncoding("utf8").on("data", (part: string) => parts.push(part));
      response.on("end", () => finish(String(response.statusCode), parts.join("")));
      response.on("error", (error: NodeJS.ErrnoException) => finish(error.code ?? error.name));
    });
    sent.end(body);
  });
}
