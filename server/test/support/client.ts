/**
 * An API client with a base address and a token. Awaiting a call returns its JSON body and fails the test unless the
 * status is 200; `refused` expects an error instead.
 */
import { expect } from "vitest";

export interface Reply {
  status: number;
  headers: Headers;
  text: string;
  // JSON of any shape: each test asserts what it reads.
  // oxlint-disable-next-line typescript/no-explicit-any
  body: any;
}

export interface Call extends PromiseLike<Reply["body"]> {
  refused(status: number, message?: RegExp): Promise<Reply>;
  reply(): Promise<Reply>;
}

export interface RequestExtras {
  headers?: Record<string, string>;
  /** Sent unchanged, instead of JSON of the body. */
  rawBody?: string | Uint8Array<ArrayBuffer>;
}

export class Client {
  readonly base: string;
  readonly token: string | undefined;

  constructor(base: string, token?: string) {
    this.base = base;
    this.token = token;
  }

  get(path: string, extras?: RequestExtras): Call {
    return this.call("GET", path, undefined, extras);
  }
  post(path: string, body?: unknown, extras?: RequestExtras): Call {
    return this.call("POST", path, body, extras);
  }
  put(path: string, body?: unknown, extras?: RequestExtras): Call {
    return this.call("PUT", path, body, extras);
  }
  delete(path: string, body?: unknown, extras?: RequestExtras): Call {
    return this.call("DELETE", path, body, extras);
  }

  /** A path without `/api` belongs to v1.2. */
  call(method: string, path: string, body?: unknown, extras: RequestExtras = {}): Call {
    const url = `${this.base}${path.startsWith("/api/") ? path : `/api/v1.2${path}`}`;
    const send = async (): Promise<Reply> => {
      const payload = extras.rawBody ?? (body === undefined ? undefined : JSON.stringify(body));
      const response = await fetch(url, {
        method,
        headers: {
          Accept: "application/json",
          "Content-Type": "application/json",
          ...(this.token === undefined ? {} : { "X-AUTH-TOKEN": this.token }),
          ...extras.headers,
        },
        ...(payload === undefined ? {} : { body: payload }),
      });
      const text = await response.text();
      const isJson = response.headers.get("content-type")?.startsWith("application/json") ?? false;
      return { status: response.status, headers: response.headers, text, body: isJson ? JSON.parse(text) : undefined };
    };
    const succeed = async (): Promise<Reply["body"]> => {
      const reply = await send();
      expect(reply.status, `${method} ${path}: ${reply.text}`).toBe(200);
      return reply.body;
    };
    return {
      // oxlint-disable-next-line unicorn/no-thenable -- a call is sent when it is awaited, by one of three names
      then: (onDone, onError) => succeed().then(onDone, onError),
      reply: send,
      async refused(status, message) {
        const reply = await send();
        expect(reply.status, `${method} ${path}: ${reply.text}`).toBe(status);
        expectErrorForm(reply);
        if (message !== undefined) expect(reply.body.error.error_message).toMatch(message);
        return reply;
      },
    };
  }
}

export function expectErrorForm(reply: Reply): void {
  expect(reply.body).toEqual({ error: { error_code: reply.status, error_message: expect.any(String) } });
  expect(Object.keys(reply.body)).toEqual(["error"]);
}
