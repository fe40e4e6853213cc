import type { IncomingMessage, ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { describe, expect, test } from "vitest";
import { remote, status, useScriptedWebHdfs, type Serve } from "../../../test/support/scripted-webhdfs.ts";

/** An HDFS whose connections break now and then. */
const { listen, storeAt } = useScriptedWebHdfs();

type Answer = (request: IncomingMessage, response: ServerResponse) => unknown;

const broken: Answer = (request) => request.socket.resetAndDestroy();
const busy: Answer = (_, response) => response.writeHead(503).end();
const missing: Answer = (_, response) => response.writeHead(404).end(remote("FileNotFoundException"));
const done: Answer = (_, response) => response.end(JSON.stringify({ boolean: true }));
const has =
  (text: string): Answer =>
  (_, response) =>
    response.end(text);

/** Answers the calls of each operation in turn; the last answer repeats. `calls` are the operations in their order. */
function script(answers: Readonly<Record<string, readonly Answer[]>>): {
  readonly calls: string[];
  readonly serve: Serve;
} {
  const calls: string[] = [];
  return {
    calls,
    serve(request, response, operation) {
      const all = answers[operation] ?? [];
      const turn = calls.filter((each) => each === operation).length;
      calls.push(operation);
      (all[turn] ?? all.at(-1) ?? done)(request, response);
    },
  };
}

describe("a read", () => {
  const cut: Answer = (request, response) => {
    response.writeHead(200, { "content-length": "5" }).write("he", () => request.socket.destroy());
  };
  const short: Answer = (_, response) => response.writeHead(200, { connection: "close" }).end("hel");

  test.each([
    ["broken connection", broken],
    ["busy server", busy],
    ["body that breaks off", cut],
    ["short body", short],
  ])("is repeated after a %s", async (_, fault) => {
    const { calls, serve } = script({ OPEN: [fault, fault, has("hello")] });
    const store = storeAt(await listen(serve), { retries: 2 });
    expect((await store.read("hdfs:///f", { offset: 0, length: 5 })).toString()).toBe("hello");
    expect([calls, store.retryCount]).toEqual([["OPEN", "OPEN", "OPEN"], 2]);
    const other = storeAt(await listen(script({ OPEN: [fault] }).serve), { retries: 1 });
    await expect(other.read("hdfs:///f", { offset: 0, length: 5 })).rejects.toMatchObject({ name: "ObjectStoreError" });
  });

  test("is repeated after silence only if the caller can wait", async () => {
    const limits = { retries: 1, headersTimeoutMs: 100 };
    const answers = { GETFILESTATUS: [() => undefined, has(status())] };
    const patient = storeAt(await listen(script(answers).serve), { ...limits, retriesTimeouts: true });
    expect(await patient.stat("hdfs:///f")).toMatchObject({ size: 5 });
    const impatient = storeAt(await listen(script(answers).serve), limits);
    await expect(impatient.stat("hdfs:///f")).rejects.toMatchObject({ kind: "unreachable" });
  });

  test("of a document is repeated if its body breaks off", async () => {
    const half: Answer = (request, response) => {
      response.writeHead(200, { "content-length": "500" }).write("{", () => request.socket.destroy());
    };
    const { serve } = script({ GETFILESTATUS: [half, has(status())] });
    expect(await storeAt(await listen(serve), { retries: 1 }).stat("hdfs:///f")).toMatchObject({ size: 5 });
  });
});

describe("a write", () => {
  /** Serves NameNode and DataNode; the latter's operation is empty. */
  async function writing(answers: Readonly<Record<string, readonly Answer[]>>) {
    const redirect: Answer = (_, response) => response.writeHead(307, { location: `${address}/webhdfs/v1/f` }).end();
    const { calls, serve } = script({ CREATE: [redirect], "": [stored], ...answers });
    const address = await listen(serve);
    return { calls, store: storeAt(address, { retries: 2 }) };
  }
  const stored: Answer = (request, response) => request.resume().once("end", () => response.writeHead(201).end());
  const resets: Answer = (request) => request.once("data", () => request.socket.resetAndDestroy());

  test("of a buffer is repeated from its start", async () => {
    const bodies: string[] = [];
    const noted: Answer = (request, response) => {
      request.on("data", (bytes: Buffer) => bodies.push(bytes.toString()));
      return stored(request, response);
    };
    const { calls, store } = await writing({ "": [resets, busy, noted] });
    await store.put("hdfs:///f", Buffer.from("hello"));
    expect(calls).toEqual(["CREATE", "", "CREATE", "", "CREATE", "", "RENAME"]);
    expect([bodies, store.retryCount]).toEqual([["hello"], 2]);
  });

  test("of a stream is not repeated once its bytes were sent", async () => {
    const { calls, store } = await writing({ "": [resets] });
    await expect(store.put("hdfs:///f", Readable.from([Buffer.from("hello")]))).rejects.toMatchObject({
      kind: "unreachable",
    });
    expect(calls).toEqual(["CREATE", "", "DELETE"]);
  });

  test("succeeds if only the answer to its renaming was lost", async () => {
    const { calls, store } = await writing({
      RENAME: [broken, missing],
      GETFILESTATUS: [missing, has(status({ length: 5 }))],
    });
    await store.put("hdfs:///f", Buffer.from("hello"));
    expect(calls).toEqual(["CREATE", "", "RENAME", "RENAME", "GETFILESTATUS", "GETFILESTATUS"]);
  });

  test.each([
    ["the temporary file is still there", [has(status())]],
    ["the target is missing", [missing]],
    ["the target is another file", [missing, has(status({ length: 4 }))]],
    ["the target is a folder", [missing, has(status({ type: "DIRECTORY" }))]],
  ])("fails after lost answers if %s", async (_, found) => {
    const { store } = await writing({ RENAME: [broken], GETFILESTATUS: found });
    await expect(store.put("hdfs:///f", Buffer.from("hello"))).rejects.toMatchObject({ kind: "unreachable" });
  });

  test("fails if its temporary file is gone although no answer was lost", async () => {
    const { calls, store } = await writing({ RENAME: [missing], GETFILESTATUS: [missing, has(status())] });
    await expect(store.put("hdfs:///f", Buffer.from("hello"))).rejects.toMatchObject({ kind: "missing" });
    expect(calls).toEqual(["CREATE", "", "RENAME", "DELETE"]);
  });
});
