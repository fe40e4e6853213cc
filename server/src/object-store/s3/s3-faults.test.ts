import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import {
  errorAnswer,
  faultyRelay,
  type Fault,
  type FaultyRelay,
  type RelayedRequest,
} from "../../../test/seaweedfs/relay.ts";
import { useSeaweedFs } from "../../../test/seaweedfs/seaweedfs.ts";
import type { S3Store } from "./s3-operations.ts";
import { s3Store, type S3StoreOptions } from "./s3-store.ts";

/** A store that fails now and then. */
const seaweedFs = useSeaweedFs();
let bucket = "";
let direct: S3Store;
const closers: (() => Promise<void>)[] = [];

beforeAll(async () => {
  bucket = await seaweedFs.bucket();
  direct = storeAt(seaweedFs.endpoint);
});
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});
afterAll(() => direct.close());

const at = (key: string): string => `s3://${bucket}/${key}`;

function storeAt(endpoint: string, options: Partial<S3StoreOptions> = {}): S3Store {
  const { region, credentials } = seaweedFs;
  return s3Store({ endpoint, region, credentials, checkAddress: () => null, ...options });
}

interface Failing {
  readonly store: S3Store;
  readonly relay: FaultyRelay;
}

async function failing(
  decide: (request: RelayedRequest) => Fault | undefined,
  options: Partial<S3StoreOptions> = {},
): Promise<Failing> {
  const relay = await faultyRelay(seaweedFs.endpoint, decide);
  const store = storeAt(relay.endpoint, options);
  closers.push(
    () => store.close(),
    () => relay.close(),
  );
  return { store, relay };
}

describe("a call succeeds, and its retry is counted, after", () => {
  test.each<[string, Fault]>([
    ["an internal error", errorAnswer(500, "InternalError")],
    ["a request to slow down", errorAnswer(503, "SlowDown")],
    ["too many requests", { kind: "answer", status: 429 }],
    ["a reset connection", { kind: "reset" }],
    ["a lost answer", { kind: "lost-answer" }],
    ["half an answer", { kind: "cut", bytes: 2 }],
  ])("%s", async (_, fault) => {
    const { store, relay } = await failing(({ count }) => (count === 1 ? fault : undefined));
    await direct.write(at("retried"), Buffer.from("fine"));
    expect((await store.read(at("retried"))).bytes.toString()).toBe("fine");
    expect([store.retryCount, relay.requests.length]).toEqual([1, 2]);
  });

  test("silence, if the caller has time", async () => {
    const silent = ({ count }: RelayedRequest): Fault | undefined => (count === 1 ? { kind: "silence" } : undefined);
    await direct.write(at("silent"), Buffer.from("fine"));
    const patient = await failing(silent, { headersTimeoutMs: 200, retriesTimeouts: true });
    expect((await patient.store.read(at("silent"))).bytes.toString()).toBe("fine");
    const hurried = await failing(silent, { headersTimeoutMs: 200 });
    await expect(hurried.store.read(at("silent"))).rejects.toMatchObject({ code: "UND_ERR_HEADERS_TIMEOUT" });
  });
});

describe("a success that contains an error", () => {
  const isCopy = ({ headers }: RelayedRequest): boolean => "x-amz-copy-source" in headers;

  test("is retried if the error is transient, for copies, copied parts and completions", async () => {
    const failed = new Set<string>();
    const { store } = await failing((request) => {
      const isCompletion = request.method === "POST" && request.url.includes("uploadId=");
      if ((!isCopy(request) && !isCompletion) || failed.has(request.url)) return undefined;
      failed.add(request.url);
      return errorAnswer(200, failed.size === 1 ? "SlowDown" : "InternalError");
    });
    const { etag } = await direct.write(at("late"), Buffer.from("fine"));
    const source = { uri: at("late"), range: { offset: 0, length: 4 }, ifMatch: etag ?? "" };
    await store.copy(at("late"), at("late-copy"), { ifMatch: etag ?? "", storageClass: "STANDARD" });
    const upload = { uri: at("late-parts"), uploadId: await store.createUpload(at("late-parts")) };
    await store.completeUpload(upload, [await store.copyPart(upload, 1, source)]);
    expect(failed.size).toBe(3);
    expect(store.retryCount).toBe(3);
    for (const name of ["late-copy", "late-parts"]) expect((await direct.read(at(name))).bytes.toString()).toBe("fine");
  });

  test("is an error if it is permanent, unreadable or has no text", async () => {
    for (const fault of [
      errorAnswer(200, "AccessDenied"),
      errorAnswer(200, "InternalError: with words"),
      { kind: "answer", status: 200, body: "<CopyObjectResult>" } as const,
      { kind: "answer", status: 200 } as const,
    ]) {
      const { store } = await failing((request) => (isCopy(request) ? fault : undefined));
      const { etag } = await direct.write(at("lying"), Buffer.from("x"));
      const copying = store.copy(at("lying"), at("lie"), { ifMatch: etag ?? "", storageClass: "STANDARD" });
      await expect(copying).rejects.toMatchObject({ kind: expect.stringMatching(/^(bad-request|bad-response)$/) });
    }
    await expect(direct.head(at("lie"))).rejects.toMatchObject({ kind: "missing" });
  });

  test("of deleted objects is returned, and the request is not repeated", async () => {
    const objects = ["a", "b", "c"].map((key) => ({ uri: at(key), etag: null }));
    const list = [
      ["a", "InternalError"],
      ["b", "AccessDenied"],
    ].map(([key, code]) => `<Error><Key>${key}</Key><Code>${code}</Code></Error>`);
    const body = `<DeleteResult>${list.join("")}</DeleteResult>`;
    const { store, relay } = await failing(() => ({ kind: "answer", status: 200, body }));
    expect(await store.deleteObjects(objects)).toEqual([
      { uri: at("a"), code: "InternalError", isTransient: true, isUnanswered: false },
      { uri: at("b"), code: "AccessDenied", isTransient: false, isUnanswered: false },
    ]);
    await expect(store.deleteObjects(objects.slice(1))).rejects.toMatchObject({ kind: "bad-response" });
    expect(relay.requests).toHaveLength(2);
    const { store: busy, relay: counted } = await failing(() => errorAnswer(503, "SlowDown"));
    await expect(busy.deleteObjects(objects)).rejects.toMatchObject({ kind: "unreachable" });
    expect(counted.requests).toHaveLength(1);
  });
});

describe("a stream that fails", () => {
  const piece = Buffer.alloc(1024 * 1024);

  test("because its contents cannot be read is reported with that reason", async () => {
    const { store } = await failing(() => undefined, { retries: 1 });
    const writing = store.writeStream(at("unread"), 2 * piece.length, async function* () {
      yield piece;
      throw new Error("the source has changed");
    });
    await expect(writing).rejects.toThrow("the source has changed");
  });
});

describe("an error that is larger than the object", () => {
  const large = { kind: "answer", status: 503, body: "<html>".padEnd(200_000, "x") } as const;

  test.each([
    ["an error document", errorAnswer(503, "SlowDown")],
    ["a page of a proxy", large],
  ])("is understood and retried: %s", async (_what, fault) => {
    const { store } = await failing(({ count }) => (count === 1 ? fault : undefined));
    await direct.write(at("few"), Buffer.from("few bytes"));
    expect((await store.read(at("few"), { range: { offset: 0, length: 3 } })).bytes.toString()).toBe("few");
    expect(store.retryCount).toBe(1);
  });

  test("is reported with its code", async () => {
    const { store } = await failing(() => errorAnswer(412, "PreconditionFailed"));
    const reading = store.read(at("few"), { range: { offset: 0, length: 3 }, ifMatch: "x" });
    await expect(reading).rejects.toMatchObject({ code: "PreconditionFailed" });
  });
});

describe("a write that the store acknowledges with another checksum", () => {
  const body = Buffer.from("right");
  const writes: [string, (store: S3Store) => Promise<unknown>][] = [
    ["an object", (store) => store.write(at("acknowledged"), body)],
    [
      "a stream",
      (store) =>
        store.writeStream(at("acknowledged"), body.length, async function* () {
          yield body;
        }),
    ],
    [
      "a part",
      async (store) => {
        const upload = { uri: at("acknowledged"), uploadId: await direct.createUpload(at("acknowledged")) };
        await store.completeUpload(upload, [await store.uploadPart(upload, 1, body)]);
      },
    ],
  ];
  const wrongMd5 = { etag: '"00000000000000000000000000000000"' };
  const wrongCrc = { ...wrongMd5, "x-amz-checksum-crc32": "AAAAAA==" };

  test.each(writes)("is repeated: %s", async (_what, write) => {
    for (const headers of [wrongMd5, wrongCrc]) {
      const { store } = await failing(({ count }) =>
        count === 1 ? { kind: "answer", status: 200, headers } : undefined,
      );
      await write(store);
      expect(store.retryCount).toBe(1);
      expect((await direct.read(at("acknowledged"))).bytes.toString()).toBe("right");
    }
  });

  test.each(writes)("is an error if it happens again and again: %s", async (_what, write) => {
    const { store } = await failing(() => ({ kind: "answer", status: 200, headers: wrongMd5 }), { retries: 1 });
    await expect(write(store)).rejects.toMatchObject({
      kind: "bad-response",
      message: `${at("acknowledged")}: the store has other bytes than were sent`,
    });
  });

  test("may be a success if the checksum is one of encrypted bytes", async () => {
    const headers = { ...wrongMd5, "x-amz-server-side-encryption": "aws:kms" };
    const { store } = await failing(() => ({ kind: "answer", status: 200, headers }));
    expect(await store.write(at("acknowledged"), body)).toMatchObject({ isVerified: false });
  });
});

test("a completion whose answer was lost is found to have succeeded", async () => {
  const { store } = await failing(({ method, url }) => {
    const isFirst = method === "POST" && url.includes("uploadId=") && !lost.has(url);
    if (isFirst) lost.add(url);
    return isFirst ? { kind: "lost-answer" } : undefined;
  });
  const lost = new Set<string>();
  const upload = { uri: at("completed"), uploadId: await store.createUpload(at("completed")) };
  const parts = [await store.uploadPart(upload, 1, Buffer.from("once"))];
  await store.completeUpload(upload, parts);
  expect(lost.size).toBe(1);
  expect((await direct.read(at("completed"))).bytes.toString()).toBe("once");
});

test.each([1, 12 * 1024 * 1024])("a conditional write of %i bytes whose answer was lost succeeds", async (bytes) => {
  let lost = 0;
  const { store } = await failing(({ method, url, headers }) => {
    const isWrite = method !== "GET" && url.split("?", 1)[0]?.endsWith("/conditional") && "if-match" in headers;
    return isWrite && (lost += 1) === 1 ? { kind: "lost-answer" } : undefined;
  });
  await direct.put(at("conditional"), Buffer.from("old"));
  const { etag } = await direct.stat(at("conditional"));
  const written = await store.put(at("conditional"), Buffer.alloc(bytes, "n"), { ifMatch: etag ?? "" });
  expect(lost).toBe(2);
  expect(await direct.stat(at("conditional"))).toMatchObject({ size: bytes, etag: written.etag });
  await expect(store.put(at("conditional"), Buffer.from("x"), { ifMatch: etag ?? "" })).rejects.toMatchObject({
    kind: "changed",
  });
});

test("every call to a store that asks to slow down succeeds, because fewer are sent at the same time", async () => {
  const { store } = await failing(({ count }) => (count <= 32 ? errorAnswer(503, "SlowDown") : undefined), {
    maxConnections: 32,
    retries: 2,
  });
  await direct.write(at("slow"), Buffer.from("x"));
  await Promise.all(Array.from({ length: 100 }, () => store.read(at("slow"))));
  expect(store.retryCount).toBe(32);
});

describe("a bucket in another region", () => {
  const region = (request: RelayedRequest): string | undefined =>
    /\/\d{8}\/([a-z0-9-]+)\/s3/.exec(request.headers["authorization"] ?? "")?.[1];
  const named: Fault = { kind: "answer", status: 400, headers: { "x-amz-bucket-region": "eu-west-1" } };
  const documented: Fault = {
    kind: "answer",
    status: 400,
    body: "<Error><Code>AuthorizationHeaderMalformed</Code><Region>eu-west-1</Region></Error>",
  };
  const redirected: Fault = {
    kind: "answer",
    status: 301,
    headers: { location: "http://192.0.2.1/" },
    body: "<Error><Code>PermanentRedirect</Code><Endpoint>b.s3.eu-west-1.amazonaws.com</Endpoint></Error>",
  };

  test.each([
    ["a header", named],
    ["an error document", documented],
    ["a redirect", redirected],
  ])("is found by %s, and all later calls use its region at the same endpoint", async (_, fault) => {
    const { store, relay } = await failing((request) => (region(request) === "us-east-1" ? fault : undefined));
    await direct.write(at("elsewhere"), Buffer.from("x"));
    await Promise.all([store.read(at("elsewhere")), store.read(at("elsewhere"))]);
    await store.read(at("elsewhere"));
    const regions = relay.requests.map(region);
    expect(regions.slice(0, 2)).toEqual(["us-east-1", "us-east-1"]);
    expect(regions.slice(2)).toEqual(["eu-west-1", "eu-west-1", "eu-west-1"]);
    expect(store.retryCount).toBe(0);
  });

  test("is not named in the error of a request that went to the right region", async () => {
    const headers = { "x-amz-bucket-region": seaweedFs.region };
    const { store } = await failing(() => ({ kind: "answer", status: 400, headers }));
    await expect(store.read(at("elsewhere"))).rejects.toThrow(/the object store refuses the request \(400\)$/);
  });

  test("is an error if two regions name each other", async () => {
    const { store, relay } = await failing((request) => {
      const next = region(request) === "us-east-1" ? "eu-west-1" : "us-east-1";
      return { kind: "answer", status: 301, headers: { "x-amz-bucket-region": next } };
    });
    await expect(store.read(at("elsewhere"))).rejects.toMatchObject({ kind: "bad-request" });
    expect(relay.requests).toHaveLength(2);
  });
});

test("a server-side copy of many bytes may take longer than other calls", async () => {
  await direct.put(at("copied"), Buffer.from("x"));
  const released = Promise.withResolvers<void>();
  const { store } = await failing(
    ({ url, headers }) => {
      if ("x-amz-copy-source" in headers) return { kind: "hold", until: released.promise };
      return url.includes("silent") ? { kind: "silence" } : undefined;
    },
    { headersTimeoutMs: 100, bodyIdleTimeoutMs: 100, retries: 0 },
  );
  const { etag } = await direct.head(at("copied"));
  const given = { ifMatch: etag ?? "", storageClass: "STANDARD", bytes: 1024 ** 3 };
  const copied = store.copy(at("copied"), at("copy"), given);
  copied.catch(() => undefined); // awaited below
  // The time that other calls have, twice.
  for (const key of ["silent-1", "silent-2"]) {
    await expect(store.head(at(key))).rejects.toMatchObject({ kind: "unreachable" });
  }
  released.resolve();
  expect(await copied).toMatchObject({ isVerified: true });
});
