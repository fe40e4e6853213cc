import { hash, randomBytes } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { beforeAll, describe, expect, test } from "vitest";
import type { CopyOf } from "../../../test/support/copy-run.ts";
import { isExhaustive } from "../../../test/support/exhaustive.ts";
import { expectFiles, firstOfEach, operationOf, useFaultyCopies } from "../../../test/support/faulty-copies.ts";
import { errorAnswer, type Fault, type RelayedRequest } from "../../../test/seaweedfs/relay.ts";
import { crc32Text } from "../../object-store/s3/s3-objects.ts";

/** Copies while the store or the network fails. */
const MIB = 1024 * 1024;
const copies = useFaultyCopies();
const contents = { a: Buffer.from("small"), "b/c": randomBytes(5 * MIB + 1) };
const members = { "g-1": contents["b/c"], "g-2": randomBytes(5 * MIB), single: Buffer.from("x") };
let objects: string;
let files: string;
let groups: string;
beforeAll(async () => {
  objects = await copies.put(contents);
  files = copies.putFiles(contents);
  groups = await copies.put(members);
});

// Concurrently, because these tests mostly wait.
describe.concurrent("a copy succeeds, and counts its retries, if the first request of each kind meets", () => {
  const internalError: [string, Fault] = ["an internal error", errorAnswer(500, "InternalError")];
  const faults: [string, Fault][] = [
    ...(isExhaustive ? [internalError] : []),
    ["a request to slow down", errorAnswer(503, "SlowDown")],
    ["a reset connection", { kind: "reset" }],
    ["a lost answer", { kind: "lost-answer" }],
    ["half an answer", { kind: "cut", bytes: 2 }],
    ["silence", { kind: "silence" }],
  ];
  /** A time limit is checked once a second at most, so silent requests of several copies are waited for together. */
  const silence = { count: 3, options: { limits: { headersTimeoutMs: 1000 } } };

  test.each(faults)("%s", async (_, fault) => {
    await Promise.all([copyDown(fault), copyUp(fault), copyServerSide(fault)]);
  });

  /** Runs copies that meet the fault together. Returns how many requests were repeated, and which operations failed. */
  async function meet(
    fault: Fault,
    copy: (decide: ReturnType<typeof firstOfEach>, options: CopyOf) => Promise<number>,
  ): Promise<{ retries: number; failed: string[] }> {
    const { count, options } = fault.kind === "silence" ? silence : { count: 1, options: {} };
    const seen = new Set<string>();
    const retries = await Promise.all(Array.from({ length: count }, () => copy(firstOfEach(fault, seen), options)));
    return { retries: retries.reduce((sum, each) => sum + each), failed: [...seen].toSorted() };
  }

  async function copyDown(fault: Fault): Promise<void> {
    const { retries, failed } = await meet(fault, async (decide, options) => {
      const { path, uri } = copies.newFiles();
      const { end } = await copies.run(`--src ${objects} --dest ${uri}`, decide, options);
      expect(end).toMatchObject({ failure: null, files: 2 });
      expectFiles(path, contents);
      return end.retries;
    });
    expect(failed).toEqual(["GET", "GET list-type", "HEAD"]);
    expect(retries).toBeGreaterThanOrEqual(2); // an answer without a body cannot be cut
  }

  async function copyUp(fault: Fault): Promise<void> {
    const { failed } = await meet(fault, async (decide, options) => {
      const dest = copies.folder();
      const { end } = await copies.run(`--src ${files} --dest ${dest}`, decide, options);
      expect(end).toMatchObject({ failure: null, files: 2 });
      await copies.expectObjects(dest, contents);
      expect(await copies.openUploads(dest)).toEqual([]);
      return end.retries;
    });
    const operations = ["PUT", "POST uploads", "PUT partNumber uploadId", "POST uploadId"];
    expect(failed).toEqual(expect.arrayContaining(operations));
  }

  async function copyServerSide(fault: Fault): Promise<void> {
    const { failed } = await meet(fault, async (decide, options) => {
      const dest = copies.folder();
      const args = `--src ${groups} --dest ${dest} --groupBy '.*/(g)-.*|.*/(single)'`;
      const { end } = await copies.run(args, decide, options);
      expect(end).toMatchObject({ failure: null, files: 3 });
      const { "g-1": first, "g-2": second, single } = members;
      await copies.expectObjects(dest, { g: Buffer.concat([first, second]), single });
      expect(await copies.openUploads(dest)).toEqual([]);
      return end.retries;
    });
    expect(failed).toEqual(expect.arrayContaining(["PUT copy partNumber uploadId"]));
  }
});

describe("a success that contains an error", () => {
  test("is tried again if the error is transient", async () => {
    const src = await copies.put({ a: "1" });
    const dest = copies.folder();
    const seen = new Set<string>();
    const lie = firstOfEach(errorAnswer(200, "InternalError"), seen);
    const { end } = await copies.run(`--src ${src} --dest ${dest}`, (request) =>
      operationOf(request) === "PUT copy" ? lie(request) : undefined,
    );
    expect(end).toMatchObject({ failure: null, retries: 1 });
    await copies.expectObjects(dest, { a: Buffer.from("1") });
  });

  test("ends the copy with its code, and no output is visible", async () => {
    for (const operation of ["PUT copy partNumber uploadId", "POST uploadId", "PUT copy"]) {
      const dest = copies.folder();
      const { end } = await copies.run(
        operation === "PUT copy"
          ? `--src ${groups}/single --dest ${dest}`
          : `--src ${groups} --dest ${dest} --groupBy '.*/(g)-.*'`,
        (request) => (operationOf(request) === operation ? errorAnswer(200, "AccessDenied") : undefined),
      );
      expect(end.failure, operation).toMatch(new RegExp(`^${dest}/.*: .*\\(200 AccessDenied\\)$`));
      expect(await copies.namesBelow(dest)).toEqual([]);
      expect(await copies.openUploads(dest)).toEqual([]);
    }
  });

  test("is noticed if the store does not have the object that it accepted", async () => {
    const src = copies.putFiles({ a: "1" });
    const dest = copies.folder();
    const { end } = await copies.run(`--src ${src} --dest ${dest}`, ({ method }) =>
      method === "PUT" ? { kind: "answer", status: 200 } : undefined,
    );
    expect(end.failure).toBe(`${dest}/a: the store has accepted the copy but does not have it`);
  });
});

describe("a byte that changes on the way", () => {
  test("to the store is noticed: the request is repeated", async () => {
    const dest = copies.folder();
    const seen = new Set<string>();
    const once = firstOfEach({ kind: "damage" }, seen);
    const { end } = await copies.run(`--src ${files} --dest ${dest}`, (request) =>
      request.method === "PUT" ? once(request) : undefined,
    );
    expect(end).toMatchObject({ failure: null, retries: 2 });
    await copies.expectObjects(dest, contents);
  });

  test("from the store is noticed: the object is read again, and never stored wrongly", async () => {
    const src = await copies.put({ a: "right" });
    for (const isAlways of [false, true]) {
      const { path, uri } = copies.newFiles();
      const seen = new Set<string>();
      const once = firstOfEach({ kind: "damage-answer" }, seen);
      const { end } = await copies.run(
        `--src ${src} --dest ${uri}`,
        (request) => {
          if (operationOf(request) !== "GET") return undefined;
          return isAlways ? { kind: "damage-answer" } : once(request);
        },
        { limits: { retries: 2 } },
      );
      expect(end.failure).toBe(isAlways ? `${src}/a: the contents do not match the checksum` : null);
      expectFiles(path, isAlways ? {} : { a: Buffer.from("right") });
    }
  });
});

describe("a range of a large object", () => {
  const bytes = randomBytes(6 * MIB);
  const isRanged = ({ headers }: RelayedRequest): boolean => headers.range !== undefined;
  let src = "";
  beforeAll(async () => {
    src = await copies.put({ large: bytes });
  });

  /** The store says which checksum the object has. */
  function withChecksum({ method }: RelayedRequest): Fault | undefined {
    if (method !== "HEAD") return undefined;
    const headers = {
      etag: `"${hash("md5", bytes)}"`,
      "last-modified": new Date().toUTCString(),
      "content-length": String(bytes.length),
      "x-amz-checksum-crc32": crc32Text(bytes),
    };
    return { kind: "answer", status: 200, headers };
  }

  test.each(["", "--outputCodec gzip"])(
    "that arrives with another byte fails the copy if the store has a checksum: %s",
    async (option) => {
      for (const isDamaged of [true, false]) {
        const { uri } = copies.newFiles();
        const once = firstOfEach({ kind: "damage-answer" }, new Set());
        const args = `--src ${src} --dest ${uri} --multipartUploadChunkSize 5 ${option}`;
        const { end } = await copies.run(args, (request) =>
          isDamaged && isRanged(request) ? once(request) : withChecksum(request),
        );
        expect(end.failure).toBe(isDamaged ? `${src}/large: the contents do not match the checksum` : null);
      }
    },
  );
});

describe("a copy that cannot succeed", () => {
  test("ends with the reason, aborts its uploads and shows nothing partial", async () => {
    const src = copies.putFiles({ first: contents["b/c"], second: contents["b/c"] });
    const dest = copies.folder();
    const aborts = new Set<string>();
    const { end } = await copies.run(
      `--src ${src} --dest ${dest}`,
      (request) => {
        const operation = operationOf(request);
        if (operation === "PUT partNumber uploadId" && request.url.includes("partNumber=2")) {
          return errorAnswer(500, "InternalError");
        }
        return operation === "DELETE uploadId" ? firstOfEach(errorAnswer(503, "SlowDown"), aborts)(request) : undefined;
      },
      { limits: { retries: 1 } },
    );
    expect(end.failure).toMatch(/: the object store does not answer \(500 InternalError\)$/);
    expect(aborts.size).toBe(1);
    expect(await copies.namesBelow(dest)).toEqual([]);
    expect(await copies.openUploads(dest)).toEqual([]);
  });

  test("because the store does not answer ends with that reason", async () => {
    const src = await copies.put({ a: "1" });
    const { path, uri } = copies.newFiles();
    const { end } = await copies.run(
      `--src ${src} --dest ${uri}`,
      (request) => (operationOf(request) === "GET" ? { kind: "reset" } : undefined),
      { limits: { retries: 1 } },
    );
    expect(end.failure).toMatch(new RegExp(`^${src}/a: the object store does not answer \\(\\w+\\)$`));
    expectFiles(path, {});
  });
});

test("a store that can take few requests gets few at a time, and every file arrives", async () => {
  const names = Array.from({ length: 400 }, (_, index) => `f${index}`);
  const src = copies.putFiles(Object.fromEntries(names.map((name) => [name, name])));
  const dest = copies.folder();
  const isOver = ({ inFlight }: RelayedRequest): boolean => inFlight > 8;
  const { end, relay } = await copies.run(`--src ${src} --dest ${dest}`, (request) => {
    if (request.method !== "PUT") return undefined;
    return isOver(request) ? errorAnswer(503, "SlowDown") : { kind: "hold", until: pause(5) };
  });
  expect(end).toMatchObject({ failure: null, files: 400 });
  expect(end.retries).toBeGreaterThan(0);
  expect((await copies.namesBelow(dest)).length).toBe(400);
  const puts = relay.requests.filter(({ method }) => method === "PUT");
  expect(puts.slice(0, 100).filter(isOver).length).toBeGreaterThan(5); // few on a busy machine, which sends slowly
  expect(puts.slice(-200).filter(isOver).length).toBeLessThan(40);
});

test("a slow connection is not taken for a silent store", async () => {
  const src = copies.putFiles({ a: randomBytes(30 * MIB) });
  const dest = copies.folder();
  // Sending takes longer than the time limit. After that, some MiB are still in the buffers of the connection, and the
  // store needs some time on a busy machine.
  const slow = ({ method }: RelayedRequest): Fault | undefined =>
    method === "PUT" ? { kind: "slow", bytesPerSecond: 6 * MIB } : undefined;
  const args = `--src ${src} --dest ${dest} --multipartUploadChunkSize 32`;
  const { end } = await copies.run(args, slow, { limits: { headersTimeoutMs: 4000 } });
  expect(end).toMatchObject({ failure: null, retries: 0 });
});
