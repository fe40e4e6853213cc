import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { afterAll, describe, expect, test } from "vitest";
import type { ObjectStore } from "../object-store.ts";
import { s3Store, type S3StoreOptions } from "./s3-store.ts";

/** Misbehaving servers, which disconnect, redirect or hang, and forbidden addresses. */
const closers: (() => Promise<unknown>)[] = [];
afterAll(async () => {
  await Promise.all(closers.map((close) => close()));
});

type Handler = (request: IncomingMessage, response: ServerResponse, count: number) => void;

interface Odd {
  store: ObjectStore;
  requests: IncomingMessage[];
  port: number;
}

async function oddServer(handle: Handler, options: Partial<S3StoreOptions> = {}): Promise<Odd> {
  const requests: IncomingMessage[] = [];
  const server: Server = createServer((request, response) => {
    requests.push(request);
    request.resume();
    handle(request, response, requests.length);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  closers.push(() => {
    server.closeAllConnections();
    return once(server.close(), "close");
  });
  return { store: storeAt(`http://127.0.0.1:${port}`, options), requests, port };
}

function storeAt(endpoint: string, options: Partial<S3StoreOptions> = {}): ObjectStore {
  const credentials = { accessKeyId: "key", secretAccessKey: "the-secret", sessionToken: "the-session" };
  return s3Store({ endpoint, region: "us-east-1", credentials, checkAddress: () => null, ...options });
}

const object: Handler = (_, response) => {
  response.setHeader("last-modified", "Fri, 02 Jan 2026 03:04:05 GMT").end("fine");
};

describe("a failed call", () => {
  test.each([500, 502, 503, 504, 429])("is retried after status %i with a new signature", async (status) => {
    const { store, requests } = await oddServer((request, response, count) => {
      if (count < 3) response.writeHead(status).end();
      else object(request, response, count);
    });
    expect((await buffer((await store.get("s3://bucket/key")).body)).toString()).toBe("fine");
    expect(requests).toHaveLength(3);
    expect(requests[0]?.headers["x-amz-security-token"]).toBe("the-session");
  });

  test("is retried with the whole body after a reset connection", async () => {
    const { store, requests } = await oddServer((request, response, count) => {
      if (count === 1) request.socket.resetAndDestroy();
      else response.end();
    });
    await store.put("s3://bucket/key", Buffer.from("body"));
    expect(requests[1]?.headers["content-length"]).toBe("4");
  });

  test("fails as unreachable after the last retry", async () => {
    const { store, requests } = await oddServer((_, response) => void response.writeHead(503).end(), { retries: 2 });
    await expect(store.stat("s3://bucket/key")).rejects.toMatchObject({ kind: "unreachable" });
    expect(requests).toHaveLength(3);
  });

  test("is not retried if access was denied", async () => {
    const { store, requests } = await oddServer((_, response) => void response.writeHead(403).end());
    await expect(store.stat("s3://bucket/key")).rejects.toMatchObject({ kind: "denied" });
    expect(requests).toHaveLength(1);
  });

  test("in the middle of a body makes the body fail", async () => {
    const { store } = await oddServer((request, response) => {
      response.writeHead(200, { "content-length": "100", "last-modified": "Fri, 02 Jan 2026 03:04:05 GMT" });
      response.write("half", () => request.socket.destroy());
    });
    const { body } = await store.get("s3://bucket/key");
    await expect(buffer(body)).rejects.toMatchObject({ kind: "unreachable" });
  });
});

describe("a response", () => {
  test("has a timeout for its headers and for each chunk of its body", async () => {
    const silent = await oddServer(() => undefined, { headersTimeoutMs: 100, retries: 0 });
    await expect(silent.store.get("s3://bucket/key")).rejects.toMatchObject({ kind: "unreachable" });
    const stuck = await oddServer(
      (_, response) => {
        response.writeHead(200, { "content-length": "100", "last-modified": "Fri, 02 Jan 2026 03:04:05 GMT" });
        response.write("half");
      },
      { bodyIdleTimeoutMs: 100 },
    );
    const { body } = await stuck.store.get("s3://bucket/key");
    await expect(buffer(body)).rejects.toMatchObject({ kind: "unreachable", code: "UND_ERR_BODY_TIMEOUT" });
  });

  test("from a closed port or an unknown host is an error", async () => {
    const { port, store } = await oddServer(object);
    await store.close();
    await closers.pop()?.();
    await expect(storeAt(`http://127.0.0.1:${port}`).stat("s3://bucket/k")).rejects.toMatchObject({
      kind: "unreachable",
      code: "ECONNREFUSED",
    });
    await expect(storeAt("http://no-such-name.invalid", { retries: 0 }).stat("s3://bucket/k")).rejects.toMatchObject({
      kind: "unreachable",
    });
  });
});

describe("an address", () => {
  test.each(["127.0.0.1", "localhost"])("of %s is checked before anything is sent", async (host) => {
    const asked: string[] = [];
    const { port, requests } = await oddServer(object);
    const checkAddress = (address: string): string | null => {
      asked.push(address);
      return "must not be loopback";
    };
    const refused = storeAt(`http://${host}:${port}`, { checkAddress });
    await expect(refused.get("s3://bucket/key")).rejects.toMatchObject({
      kind: "refused-address",
      message: "s3://bucket/key: the address of the object store must not be loopback",
    });
    expect(["127.0.0.1", "::1"]).toContain(asked[0]);
    expect(requests).toHaveLength(0);
  });

  test("in brackets or shortened is checked in its canonical form", async () => {
    const asked: string[] = [];
    const checkAddress = (address: string): string | null => {
      asked.push(address);
      return "must not be";
    };
    for (const host of ["[::1]", "0x7f.1"]) {
      await expect(storeAt(`http://${host}:9`, { checkAddress }).get("s3://bucket/k")).rejects.toMatchObject({
        kind: "refused-address",
      });
    }
    expect(asked).toEqual(["::1", "127.0.0.1"]);
  });

  test("in a redirect is never contacted", async () => {
    const elsewhere = await oddServer(object);
    const { store } = await oddServer((_, response) => {
      const headers = { location: `http://127.0.0.1:${elsewhere.port}/`, "x-amz-bucket-region": "eu-west-1" };
      response.writeHead(307, headers).end();
    });
    await expect(store.get("s3://bucket/key")).rejects.toMatchObject({
      kind: "bad-request",
      message: expect.stringContaining("the bucket is in the region eu-west-1"),
    });
    expect(elsewhere.requests).toHaveLength(0);
  });
});

describe("a server that is not S3", () => {
  test.each([
    ["a page", "<html>internal</html>"],
    ["an endless page", "<a>".repeat(2_000_000)],
    ["nothing", ""],
  ])("and answers a listing with %s is an error that does not quote it", async (_, text) => {
    const { store } = await oddServer((request, response) => void response.end(text));
    const listing = Array.fromAsync(store.list("s3://bucket/"));
    await expect(listing).rejects.toMatchObject({ kind: "bad-response" });
    await expect(listing).rejects.toThrow(/^(?!.*internal)/);
  });

  test("and repeats its page forever is an error", async () => {
    const page =
      "<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>t</NextContinuationToken></ListBucketResult>";
    const { store } = await oddServer((_, response) => void response.end(page));
    await expect(Array.fromAsync(store.list("s3://bucket/"))).rejects.toMatchObject({ kind: "bad-response" });
  });

  test("and ignores a range is an error", async () => {
    const { store } = await oddServer(object);
    const part = store.get("s3://bucket/key", { range: { offset: 1, length: 1 } });
    await expect(part).rejects.toMatchObject({ kind: "bad-response" });
  });

  test("and reports an error with status 200 when parts are joined has not stored them", async () => {
    const { store } = await oddServer(
      ({ method, url = "" }, response) => {
        if (url.includes("uploads"))
          response.end("<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>");
        else if (method === "POST") response.end("<Error><Code>InternalError</Code></Error>");
        else response.setHeader("etag", '"e"').end();
      },
      { partSizeBytes: 4 },
    );
    await expect(store.put("s3://bucket/key", Buffer.from("12345678"))).rejects.toMatchObject({
      kind: "unreachable",
      code: "InternalError",
    });
  });
});
