import { appendFileSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { hostileLog } from "./fixtures/hostile-event-log.ts";
import { readEventLog, readMore } from "./fixtures/read-event-log.ts";
import { eventLogLimits, EventLogReader } from "./event-log-reader.ts";

/**
 * Recorded with Spark 4.1.4, without large fields: a shuffle of 4 + 2 tasks, the same result again with its first stage
 * skipped, and a job whose only task divides by zero.
 */
const recorded = readFileSync(new URL("fixtures/three-jobs.jsonl", import.meta.url), "utf8");

let folder: string;
let path: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "headgate-events-"));
  path = join(folder, "app");
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

describe("the event log", () => {
  it("shows every job with its state and counts", () => {
    writeFileSync(path, recorded);
    const { jobs, progress } = readEventLog(path);
    expect(jobs).toMatchObject([
      { jobId: 0, status: "succeeded", tasks: 6, completedTasks: 6, failedTasks: 0, stages: 2, completedStages: 2 },
      { jobId: 1, status: "succeeded", tasks: 6, completedTasks: 6, failedTasks: 0, stages: 2, completedStages: 1 },
      { jobId: 2, status: "failed", tasks: 1, completedTasks: 0, failedTasks: 1, stages: 1, completedStages: 0 },
    ]);
    expect(jobs.every(({ submittedAt, endedAt }) => endedAt !== null && endedAt >= submittedAt)).toBe(true);
    expect(progress).toBe(99);
  });

  it("is followed however the file grows, and the progress never decreases", () => {
    const reader = new EventLogReader(path);
    expect(readMore(reader)).toEqual({ progress: 0, jobs: [] });
    const seen: number[] = [];
    const writing = `${path}.inprogress`;
    for (let at = 0; at < recorded.length; at += 997) {
      appendFileSync(writing, recorded.slice(at, at + 997));
      seen.push(readMore(reader).progress);
    }
    expect(seen).toEqual([...seen].sort((one, other) => one - other));
    expect(seen.some((percent) => percent > 0 && percent < 99)).toBe(true);

    renameSync(writing, path);
    expect(readMore(reader)).toEqual(readEventLog(path));
  });

  it.each(["app-20261115101112-0003", "application_1763200000000_0007", "spark-0123456789abcdef0123456789abcdef"])(
    "is found under the name %s that a remote cluster gave it",
    (name) => {
      const reader = new EventLogReader(path);
      writeFileSync(join(folder, "something else"), "not Spark's");
      expect(readMore(reader).jobs).toEqual([]);
      writeFileSync(join(folder, `${name}.inprogress`), recorded);
      expect(readMore(reader).jobs).toHaveLength(3);
      renameSync(join(folder, `${name}.inprogress`), join(folder, name));
      expect(readMore(reader).jobs).toHaveLength(3);
    },
  );

  it("starts over with the next session of the same program", () => {
    const reader = new EventLogReader(path);
    writeFileSync(path, recorded);
    readMore(reader);
    const second = `${recorded.split("\n").find((line) => line.includes("JobStart")) ?? ""}\n`;
    rmSync(path);
    writeFileSync(`${path}.inprogress`, second);
    const { jobs, progress } = readMore(reader);
    expect(jobs).toMatchObject([{ jobId: 0, status: "running", completedTasks: 0 }]);
    expect(progress).toBe(99);
  });

  it("skips lines that are truncated, unknown or too long", () => {
    const huge = `{"Event":"SparkListenerJobStart","Job ID":9,"Padding":"${"x".repeat(9 * 1024 * 1024)}"}\n`;
    const torn = '{"Event":"SparkListenerJobStart","Job ID":\n';
    const odd = '{"Event":"SparkListenerTaskEnd","Stage ID":"none"}\n{"Event":"SparkListenerJobEnd"}\nnull\n\n';
    writeFileSync(path, `${huge}${torn}${odd}${recorded}`);
    const { jobs } = readEventLog(path);
    expect(jobs.map(({ jobId }) => jobId)).toEqual([0, 1, 2]);
  });

  it("keeps the newest thousand jobs of a program that starts very many", () => {
    const job = (id: number): string =>
      `{"Event":"SparkListenerJobStart","Job ID":${id},"Submission Time":1,"Stage Infos":[{"Stage ID":${id},"Number of Tasks":1}]}\n` +
      `{"Event":"SparkListenerJobEnd","Job ID":${id},"Completion Time":2,"Job Result":{"Result":"JobSucceeded"}}\n`;
    writeFileSync(path, Array.from({ length: 3_000 }, (_, id) => job(id)).join(""));
    const { jobs } = readEventLog(path);
    expect([jobs.length, jobs[0]?.jobId, jobs.at(-1)?.jobId]).toEqual([1_000, 2_000, 2_999]);
  });

  it("takes time in proportion to its length, however many stages and job ends it has", () => {
    writeFileSync(path, hostileLog(2_000, 500));
    const visited = countVisitedEntries(() => readEventLog(path));
    expect(visited).toBeLessThan(10_000);
  });

  it("counts the end of each job once", () => {
    const start = '{"Event":"SparkListenerJobStart","Job ID":1,"Stage Infos":[{"Stage ID":1,"Number of Tasks":4}]}\n';
    const end = (result: string, time: number): string =>
      `{"Event":"SparkListenerJobEnd","Job ID":1,"Completion Time":${time},"Job Result":{"Result":"${result}"}}\n`;
    const task = '{"Event":"SparkListenerTaskEnd","Stage ID":1,"Task End Reason":{"Reason":"Success"}}\n';
    writeFileSync(path, `${start}${task}${end("JobFailed", 5)}${task}${start}${end("JobSucceeded", 6).repeat(9)}`);
    expect(readEventLog(path).jobs).toEqual([
      expect.objectContaining({ status: "failed", tasks: 4, completedTasks: 1, endedAt: 5 }),
    ]);
  });

  it.each(["1e400", "-1", "1.5", "1e300", '"7"', "null", "[3]", "{}", "true", "2147483648"])(
    "counts no tasks if their number is %s",
    (count) => {
      const stages = `[{"Stage ID":1,"Number of Tasks":${count}},{"Stage ID":2,"Number of Tasks":3},${count}]`;
      const start = `{"Event":"SparkListenerJobStart","Job ID":1,"Submission Time":${count},"Stage Infos":${stages}}\n`;
      const odd = `{"Event":"SparkListenerJobStart","Job ID":${count},"Stage Infos":[]}\n`;
      writeFileSync(path, `${start}${odd}`);
      const { progress, jobs } = readEventLog(path);
      expect([progress, jobs.map(({ tasks }) => tasks)]).toEqual([0, [3]]);
      expect(jobs.every(({ submittedAt }) => Number.isSafeInteger(submittedAt))).toBe(true);
    },
  );

  it("yields whole numbers whatever its lines contain", () => {
    const value = fc.oneof(fc.jsonValue(), fc.constantFrom(1, 2), fc.double());
    const event = fc.record({
      Event: fc.constantFrom("JobStart", "JobEnd", "TaskEnd", "StageCompleted").map((name) => `SparkListener${name}`),
      "Job ID": value,
      "Stage ID": value,
      "Stage Infos": fc.oneof(value, fc.array(fc.record({ "Stage ID": value, "Number of Tasks": value }))),
      "Stage Info": fc.oneof(value, fc.record({ "Stage ID": value })),
      "Submission Time": value,
      "Completion Time": value,
    });
    fc.assert(
      fc.property(fc.array(event, { maxLength: 20 }), (events) => {
        writeFileSync(path, events.map((each) => `${JSON.stringify(each)}\n`).join(""));
        const { progress, jobs } = readEventLog(path);
        const numbers = jobs.flatMap(({ status: _, endedAt, ...counts }) => [endedAt ?? 0, ...Object.values(counts)]);
        expect([progress, ...numbers].every((number) => Number.isSafeInteger(number) && number >= 0)).toBe(true);
      }),
    );
  });

  it("is read in turns with a limit of bytes", () => {
    writeFileSync(path, recorded);
    const limits = { ...eventLogLimits, turnBytes: 4096, lineBytes: 4000 };
    const reader = new EventLogReader(path, limits);
    let turns = 1;
    while (!reader.readMore()) turns += 1;
    expect(turns).toBeGreaterThanOrEqual(Math.floor(recorded.length / limits.turnBytes));
    expect(reader.jobs).toEqual(readEventLog(path).jobs);
  });

  it("shows the part that was read if it exceeds the limits of size or time", () => {
    writeFileSync(path, `${recorded}${recorded.replaceAll('"Job ID":', '"Job ID":1')}`);
    expect(readEventLog(path).jobs).toHaveLength(6);
    expect(readEventLog(path, { logBytes: recorded.length }).jobs).toHaveLength(3);
    expect(readEventLog(path, { totalMs: 0 }).jobs).toEqual([]);
    const slow = new EventLogReader(path, { ...eventLogLimits, turnBytes: recorded.length, totalMs: Number.MIN_VALUE });
    expect(readMore(slow).jobs).toHaveLength(3);
  });

  it("skips deeply nested events, which would take too much memory", () => {
    const deep = `{"Event":"SparkListenerJobStart","Job ID":9,"Stage Infos":${"[".repeat(100)}${"]".repeat(100)}}\n`;
    const quoted = `{"Event":"SparkListenerJobStart","Job ID":8,"Padding":"\\"${"[".repeat(100)}"}\n`;
    writeFileSync(path, `${deep}${quoted}`);
    expect(readEventLog(path).jobs.map(({ jobId }) => jobId)).toEqual([8]);
  });
});

/** Calls `work` and counts the entries of maps that it iterates over. */
function countVisitedEntries(work: () => void): number {
  const iterator = Object.getPrototypeOf(new Map().entries()) as Iterator<unknown>;
  const next = vi.spyOn(iterator, "next");
  try {
    work();
    return next.mock.calls.length;
  } finally {
    next.mockRestore();
  }
}
