import { randomUUID } from "node:crypto";
import { afterEach, describe, expect, it } from "vitest";
import {
  scriptConnect,
  sparkError,
  type Answer,
  type ScriptedConnect,
  type Step,
} from "../../../test/support/scripted-connect.ts";
import type { ConnectEvent } from "./connect-event.ts";
import { ConnectError } from "./connect-error.ts";
import type { ConnectExecution } from "./connect-execution.ts";
import { openConnect, type ConnectChannel } from "./spark-connect.ts";

const operationId = randomUUID();

const batch = (responseId: string): Answer => ({
  responseId,
  serverSideSessionId: "s",
  responseType: { case: "arrowBatch", value: { rowCount: 1n, data: new Uint8Array(3) } },
});
const progress = (responseId: string, completed: number, tasks: number): Answer => ({
  responseId,
  responseType: {
    case: "executionProgress",
    value: { stages: [{ numTasks: BigInt(tasks), numCompletedTasks: BigInt(completed) }] },
  },
});
const complete: Answer = { responseId: "last", responseType: { case: "resultComplete", value: {} } };

let server: ScriptedConnect;
let channel: ConnectChannel;
afterEach(() => {
  channel.close();
  server.stop();
});

async function play(scripts: readonly (readonly Step[])[], patience = { reconnectMs: 30_000, silenceMs: 30_000 }) {
  server = await scriptConnect(scripts);
  channel = openConnect({ host: "127.0.0.1", port: server.port, sessionUser: "u", patience });
  return channel.session({ id: randomUUID() });
}

async function positions(execution: ConnectExecution): Promise<string[]> {
  const found: string[] = [];
  for await (const { position } of execution) found.push(position);
  return found;
}

async function failure(work: Promise<unknown>): Promise<ConnectError> {
  const error: unknown = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof ConnectError)) throw new Error("not refused as expected", { cause: error });
  return error;
}

describe("a statement", () => {
  it("continues with another stream when the server ends one, until it is complete", async () => {
    const session = await play([
      [batch("1"), "end"],
      [batch("2"), batch("3"), "end"],
      [complete, "end"],
    ]);
    expect(await positions(session.execute("x", { operationId }))).toEqual(["1", "2", "3", "last"]);
    expect(server.calls).toEqual(["start", "attach after 1", "attach after 3"]);
  });

  it("continues after the last response when the connection breaks", async () => {
    const session = await play([[batch("1"), "break"], ["break"], [batch("2"), complete, "end"]]);
    expect(await positions(session.execute("x", { operationId }))).toEqual(["1", "2", "last"]);
    expect(server.calls).toEqual(["start", "attach after 1", "attach after 1"]);
  });

  it("continues after the last response when the server stops responding", async () => {
    const session = await play(
      [
        [batch("1"), "stay"],
        [complete, "end"],
      ],
      { reconnectMs: 30_000, silenceMs: 1_000 },
    );
    await channel.ping(); // connecting may take longer than the silence limit
    expect(await positions(session.execute("x", { operationId }))).toEqual(["1", "last"]);
    expect(server.calls).toEqual(["start", "attach after 1"]);
  });

  it.each(["INVALID_HANDLE.OPERATION_NOT_FOUND", "INVALID_HANDLE.SESSION_NOT_FOUND"])(
    "is started again when its start never arrived (%s)",
    async (errorClass) => {
      const session = await play([["break"], [sparkError(errorClass)], [batch("1"), complete, "end"]]);
      expect(await positions(session.execute("x", { operationId }))).toEqual(["1", "last"]);
      expect(server.calls).toEqual(["start", "attach", "start"]);
      expect(server.starts.map((start) => start.operationId)).toEqual([operationId, operationId]);
    },
  );

  it("is read from its beginning if it was started before", async () => {
    const exists = sparkError("INVALID_HANDLE.OPERATION_ALREADY_EXISTS");
    const session = await play([[exists], [batch("1"), complete, "end"]]);
    expect(await positions(session.execute("x", { operationId }))).toEqual(["1", "last"]);
    expect(server.calls).toEqual(["start", "attach"]);
  });

  it("is never started again once a response has arrived", async () => {
    const session = await play([[batch("1"), "break"], [sparkError("INVALID_HANDLE.OPERATION_NOT_FOUND")]]);
    expect(await failure(positions(session.execute("x", { operationId })))).toMatchObject({ kind: "operation gone" });
    expect(server.calls).toEqual(["start", "attach after 1"]);
  });

  it("continues when its own delayed stream has taken over", async () => {
    const session = await play([
      [batch("1"), sparkError("INVALID_CURSOR.DISCONNECTED")],
      [batch("2"), complete, "end"],
    ]);
    expect(await positions(session.execute("x", { operationId }))).toEqual(["1", "2", "last"]);
    expect(server.calls).toEqual(["start", "attach after 1"]);
  });

  it("stops when another reader takes over again and again", async () => {
    const taken = sparkError("INVALID_CURSOR.DISCONNECTED");
    const session = await play([[batch("1"), taken], [batch("2"), taken], [taken], [taken]]);
    expect(await failure(positions(session.execute("x", { operationId })))).toMatchObject({ kind: "taken over" });
    expect(server.calls).toEqual(["start", "attach after 1", "attach after 2", "attach after 2"]);
  });

  it("tolerates any number of takeovers over a long time", async () => {
    const taken = sparkError("INVALID_CURSOR.DISCONNECTED");
    const answers = ["1", "2", "3", "4", "5"].map((position): Step[] => [batch(position), taken]);
    // `reconnectMs` is shorter than the pause before the next stream.
    const session = await play([...answers, [complete, "end"]], { reconnectMs: 20, silenceMs: 10_000 });
    expect(await positions(session.execute("x", { operationId }))).toEqual(["1", "2", "3", "4", "5", "last"]);
  });

  it("is gone if it was released while a reader was attached", async () => {
    const session = await play([
      [sparkError("INVALID_CURSOR.DISCONNECTED")],
      [sparkError("INVALID_HANDLE.OPERATION_ABANDONED")],
    ]);
    expect(await failure(positions(session.resume({ operationId, position: "7" })))).toMatchObject({
      kind: "operation gone",
    });
  });

  it("stops when a different session with the same id responds", async () => {
    const other = { ...batch("2"), serverSideSessionId: "t" };
    const session = await play([[batch("1"), other]]);
    expect(await failure(positions(session.execute("x", { operationId })))).toMatchObject({ kind: "session gone" });
  });

  it("fails when the server is unreachable for too long", async () => {
    const session = await play([[batch("1"), "break"], ...Array.from({ length: 50 }, (): Step[] => ["break"])], {
      reconnectMs: 1_500,
      silenceMs: 10_000,
    });
    const began = Date.now();
    expect(await failure(positions(session.execute("x", { operationId })))).toMatchObject({ kind: "unavailable" });
    expect(Date.now() - began).toBeLessThan(30_000);
    expect(server.calls.length).toBeGreaterThan(2);
  });

  it("reports an error with its class and SQL state, and is not tried again", async () => {
    const session = await play([[sparkError("DIVIDE_BY_ZERO", { sqlState: "22012" })]]);
    expect(await failure(positions(session.execute("x", { operationId })))).toMatchObject({
      kind: "failed",
      errorClass: "DIVIDE_BY_ZERO",
      sqlState: "22012",
      code: 13,
      message: "[DIVIDE_BY_ZERO] as the test wants it",
    });
    expect(server.calls).toEqual(["start"]);
  });

  it("has a progress that never decreases and never reaches 100 %", async () => {
    const answers = [progress("1", 1, 4), progress("2", 1, 8), progress("3", 3, 8), progress("4", 8, 8), complete];
    const session = await play([[...answers, "end"]]);
    const events: ConnectEvent[] = [];
    for await (const event of session.execute("x", { operationId })) events.push(event);
    const work = (completedTasks: number, tasks: number) => ({ stages: 1, completedStages: 0, tasks, completedTasks });
    expect(events).toEqual([
      { kind: "progress", percent: 25, work: work(1, 4), position: "1" },
      { kind: "progress", percent: 37, work: work(3, 8), position: "3" },
      { kind: "progress", percent: 99, work: work(8, 8), position: "4" },
      { kind: "complete", position: "last" },
    ]);
  });

  it("counts the rows before each batch if the server does not, and numbers the parts of a batch", async () => {
    const part = (responseId: string, chunkIndex: bigint): Answer => ({
      responseId,
      responseType: {
        case: "arrowBatch",
        value: { rowCount: 5n, data: new Uint8Array(1), chunkIndex, numChunksInBatch: 2n },
      },
    });
    const session = await play([[batch("1"), part("2", 0n), part("3", 1n), batch("4"), complete, "end"]]);
    const found: unknown[] = [];
    for await (const event of session.execute("x", { operationId })) {
      if (event.kind === "batch") found.push([event.startRow, event.rowCount, event.part, event.parts]);
    }
    expect(found).toEqual([
      [0, 1, 0, 1],
      [1, 5, 0, 2],
      [1, 5, 1, 2],
      [6, 1, 0, 1],
    ]);
  });
});

describe("a result", () => {
  it("is released as far as its reader says, and completely after the end", async () => {
    const session = await play([[batch("1"), batch("2"), complete, "end"]]);
    const execution = session.execute("x", { operationId });
    for await (const event of execution) {
      expect(server.released).not.toContain("all");
      if (event.position === "2") execution.release("2");
    }
    await expect.poll(() => server.released.toSorted()).toEqual(["2", "all"]);
  });

  it("is released before its session, because Spark would log an error afterwards", async () => {
    const session = await play([[batch("1"), complete, "end"]]);
    const execution = session.execute("x", { operationId });
    for await (const { position } of execution) execution.release(position);
    await session.release();
    expect(server.released).toContain("all");
    expect(server.released.at(-1)).toBe("session");
    expect(server.lateReleases).toEqual([]);
  });

  it("resumes right after a position", async () => {
    const session = await play([
      [batch("8"), "break"],
      [complete, "end"],
    ]);
    expect(await positions(session.resume({ operationId, position: "7" }))).toEqual(["8", "last"]);
    expect(server.calls).toEqual(["attach after 7", "attach after 8"]);
  });

  it.each([
    ["INVALID_HANDLE.OPERATION_NOT_FOUND", "operation gone"],
    ["INVALID_HANDLE.OPERATION_ABANDONED", "operation gone"],
    ["INVALID_CURSOR.POSITION_NOT_AVAILABLE", "operation gone"],
    ["INVALID_HANDLE.SESSION_CLOSED", "session gone"],
    ["INVALID_HANDLE.SESSION_NOT_FOUND", "session gone"],
  ])("is reported as gone if the server no longer has it (%s)", async (errorClass, kind) => {
    const session = await play([[sparkError(errorClass)]]);
    expect(await failure(positions(session.resume({ operationId, position: "7" })))).toMatchObject({ kind });
    expect(server.calls).toEqual(["attach after 7"]);
  });
});

describe("a reader that is aborted", () => {
  it("stops at once and leaves the statement running", async () => {
    const session = await play([[batch("1"), "stay"]]);
    const stopping = new AbortController();
    const reason = new Error("enough");
    const reading = (async () => {
      for await (const event of session.execute("x", { operationId, signal: stopping.signal })) {
        if (event.position === "1") stopping.abort(reason);
      }
    })();
    await expect(reading).rejects.toBe(reason);
    expect(server.released).toEqual([]);
  });

  it("stops while the server is unreachable", async () => {
    const session = await play([[batch("1"), "break"], ...Array.from({ length: 50 }, (): Step[] => ["break"])], {
      reconnectMs: 60_000,
      silenceMs: 10_000,
    });
    const stopping = new AbortController();
    const reading = positions(session.execute("x", { operationId, signal: stopping.signal }));
    await expect.poll(() => server.calls.length).toBeGreaterThan(1);
    stopping.abort();
    await expect(reading).rejects.toThrow("aborted");
  });
});
