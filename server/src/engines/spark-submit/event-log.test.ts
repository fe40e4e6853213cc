import { appendFileSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { EventLogReader } from "./event-log.ts";

/**
 * Of Spark 4.1.4, large fields left out: a shuffle of 4 + 2 tasks, the same result again with its first stage skipped,
 * and a job whose one task divides by zero.
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
  it("gives every job with its state and counts", async () => {
    writeFileSync(path, recorded);
    const { jobs, progress } = await new EventLogReader(path).read();
    expect(jobs).toMatchObject([
      { jobId: 0, status: "succeeded", tasks: 6, completedTasks: 6, failedTasks: 0, stages: 2, completedStages: 2 },
      { jobId: 1, status: "succeeded", tasks: 6, completedTasks: 6, failedTasks: 0, stages: 2, completedStages: 1 },
      { jobId: 2, status: "failed", tasks: 1, completedTasks: 0, failedTasks: 1, stages: 1, completedStages: 0 },
    ]);
    expect(jobs.every(({ submittedAt, endedAt }) => endedAt !== null && endedAt >= submittedAt)).toBe(true);
    expect(progress).toBe(99);
  });

  it("is followed however the file grows, with progress that never falls", async () => {
    const reader = new EventLogReader(path);
    expect(await reader.read()).toEqual({ progress: 0, jobs: [] });
    const seen: number[] = [];
    const writing = `${path}.inprogress`;
    for (let at = 0; at < recorded.length; at += 997) {
      appendFileSync(writing, recorded.slice(at, at + 997));
      seen.push((await reader.read()).progress);
    }
    expect(seen).toEqual([...seen].sort((one, other) => one - other));
    expect(seen.some((percent) => percent > 0 && percent < 99)).toBe(true);

    renameSync(writing, path);
    expect(await reader.read()).toEqual(await new EventLogReader(path).read());
  });

  it.each(["app-20261115101112-0003", "application_1763200000000_0007", "spark-0123456789abcdef0123456789abcdef"])(
    "is found by the name %s, which a cluster elsewhere gave it",
    async (name) => {
      const reader = new EventLogReader(path);
      writeFileSync(join(folder, "something else"), "not Spark's");
      expect((await reader.read()).jobs).toEqual([]);
      writeFileSync(join(folder, `${name}.inprogress`), recorded);
      expect((await reader.read()).jobs).toHaveLength(3);
      renameSync(join(folder, `${name}.inprogress`), join(folder, name));
      expect((await reader.read()).jobs).toHaveLength(3);
    },
  );

  it("starts over with the session that follows in the same program", async () => {
    const reader = new EventLogReader(path);
    writeFileSync(path, recorded);
    await reader.read();
    const second = `${recorded.split("\n").find((line) => line.includes("JobStart")) ?? ""}\n`;
    rmSync(path);
    writeFileSync(`${path}.inprogress`, second);
    const { jobs, progress } = await reader.read();
    expect(jobs).toMatchObject([{ jobId: 0, status: "running", completedTasks: 0 }]);
    expect(progress).toBe(99);
  });

  it("passes over lines that are torn, foreign or longer than memory shall hold", async () => {
    const huge = `{"Event":"SparkListenerJobStart","Job ID":9,"Padding":"${"x".repeat(9 * 1024 * 1024)}"}\n`;
    const torn = '{"Event":"SparkListenerJobStart","Job ID":\n';
    const odd = '{"Event":"SparkListenerTaskEnd","Stage ID":"none"}\n{"Event":"SparkListenerJobEnd"}\nnull\n\n';
    writeFileSync(path, `${huge}${torn}${odd}${recorded}`);
    const { jobs } = await new EventLogReader(path).read();
    expect(jobs.map(({ jobId }) => jobId)).toEqual([0, 1, 2]);
  });

  it("keeps the newest thousand jobs of a program that starts very many", async () => {
    const job = (id: number): string =>
      `{"Event":"SparkListenerJobStart","Job ID":${id},"Submission Time":1,"Stage Infos":[{"Stage ID":${id},"Number of Tasks":1}]}\n` +
      `{"Event":"SparkListenerJobEnd","Job ID":${id},"Completion Time":2,"Job Result":{"Result":"JobSucceeded"}}\n`;
    writeFileSync(path, Array.from({ length: 3_000 }, (_, id) => job(id)).join(""));
    const { jobs } = await new EventLogReader(path).read();
    expect([jobs.length, jobs[0]?.jobId, jobs.at(-1)?.jobId]).toEqual([1_000, 2_000, 2_999]);
  });
});
