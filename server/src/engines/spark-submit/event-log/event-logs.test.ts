import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  type TurnReply,
  type TurnRequest,
  type TurnTaker,
  EventLogThread,
  eventLogs,
  type EventLogs,
  type EventLogsOptions,
} from "./event-logs.ts";

const log = pino({ level: "silent" });
const started = '{"Event":"SparkListenerJobStart","Job ID":0,"Stage Infos":[{"Stage ID":0,"Number of Tasks":2}]}\n';
const taskEnd = '{"Event":"SparkListenerTaskEnd","Stage ID":0,"Task End Reason":{"Reason":"Success"}}\n';

let folder: string;
let logs: EventLogs;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "headgate-events-"));
});
afterEach(async () => {
  await logs.stop();
  rmSync(folder, { recursive: true });
});

const pathOf = (name: string): string => join(folder, name);

type Answer = (request: TurnRequest) => TurnReply | Promise<TurnReply>;

/** Stub threads with scripted replies; returns the turns of each. */
function scripted(answer: Answer, options: Partial<EventLogsOptions> = {}): string[][] {
  const threads: string[][] = [];
  const openThread = (): TurnTaker => {
    const turns: string[] = [];
    threads.push(turns);
    return {
      async turn(request) {
        turns.push(request.path);
        await new Promise(setImmediate);
        return answer(request);
      },
      stop: () => Promise.resolve(),
    };
  };
  logs = eventLogs({ log, openThread, ...options });
  return threads;
}

describe("the event logs of a node", () => {
  it("are read by a separate thread, which starts when it is needed and ends when it is idle", async () => {
    const ends: string[] = [];
    const openThread = (): TurnTaker => {
      const thread = new EventLogThread();
      const stop = (): Promise<void> => thread.stop().then(() => void ends.push("ended"));
      return { turn: (request) => thread.turn(request), stop };
    };
    logs = eventLogs({ log, openThread, idleMs: 1 });
    writeFileSync(pathOf("a"), `${started}${taskEnd}`);
    expect(await logs.jobs({ path: pathOf("a"), owner: "1" })).toMatchObject([{ tasks: 2, completedTasks: 1 }]);
    await expect.poll(() => ends).toEqual(["ended"]);
    // The new thread reads the log from its beginning.
    await expect.poll(() => logs.progress({ path: pathOf("a"), owner: "1" })).toBe(50);
  });

  it("take turns between their owners, so that a long log does not block others", async () => {
    let isShortDone = false;
    const state = { progress: 7, jobs: [] };
    const threads = scripted(({ path }) => (path === "short" || isShortDone ? state : undefined));
    const long = logs.jobs({ path: "long", owner: "1" });
    expect(await logs.progress({ path: "short", owner: "2" })).toBe(7);
    isShortDone = true;
    expect(await long).toEqual([]);
    expect(threads[0]?.slice(0, 2)).toEqual(["long", "short"]);
  });

  it("reply with the part that was read when the time limit is over", async () => {
    const state = { progress: 1, jobs: [] };
    scripted(({ isLast }) => (isLast ? state : undefined), { patienceMs: { progress: 1, jobs: 1 } });
    expect(await logs.jobs({ path: "endless", owner: "1" })).toEqual([]);
    scripted(() => new Promise(() => undefined), { patienceMs: { progress: 1, jobs: 1 } });
    expect(await logs.progress({ path: "hanging", owner: "1" })).toBeUndefined();
  });

  it("share one reading between callers, and limit the number of waiting ones", async () => {
    const threads = scripted(() => ({ progress: 0, jobs: [] }), { waitingByOwner: 1 });
    const first = logs.jobs({ path: "a", owner: "1" });
    const second = logs.jobs({ path: "b", owner: "1" });
    const same = logs.jobs({ path: "b", owner: "1" });
    await expect(logs.jobs({ path: "c", owner: "1" })).rejects.toThrow("Too many event logs");
    await Promise.all([first, second, same]);
    expect(threads).toEqual([["a", "b"]]);
  });

  it("do not read a log again that crashed the thread, and read the others with a new thread", async () => {
    const threads = scripted(({ path }) => {
      if (path === "bad") throw new Error("out of memory");
      return { progress: 3, jobs: [] };
    });
    expect(await logs.jobs({ path: "bad", owner: "1" })).toEqual([]);
    expect(await logs.progress({ path: "good", owner: "1" })).toBe(3);
    expect(await logs.jobs({ path: "bad", owner: "1" })).toEqual([]);
    expect(threads).toEqual([["bad"], ["good"]]);
  });
});
