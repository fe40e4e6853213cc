import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pino } from "pino";
import { afterAll, afterEach, expect, test, vi } from "vitest";
import { useServer, type AccountClient } from "../../test/support/given.ts";
import { hostileLogProgram } from "../engines/spark-submit/event-log/fixtures/hostile-event-log.ts";
import { submitProgram } from "../../test/support/programs.ts";
import { stubDriver } from "../../test/support/stub-driver.ts";
import { waitForCommandEnd } from "../../test/support/wait-for-command-end.ts";
import { eventLogs } from "../engines/spark-submit/event-log/event-logs.ts";

const logs = eventLogs({ log: pino({ level: "silent" }) });
afterAll(() => logs.stop());

/** The stub program writes the event log, and its progress is read as that of a Spark program. */
const given = useServer({
  driver: {
    ...stubDriver,
    async commandLine(run, folders) {
      const line = await stubDriver.commandLine(run, folders);
      return { ...line, env: { ...line.env, EVENT_LOG: join(folders.eventLogFolder, folders.applicationId) } };
    },
    followProgress:
      ({ eventLog: path }, accountId) =>
      async () =>
        (await logs.progress({ path, owner: String(accountId) })) ?? 0,
  },
});

afterEach(() => vi.restoreAllMocks());

function release(account: AccountClient, id: number): void {
  writeFileSync(join(given.dataDir, "accounts", String(account.accountId), "storage", `journal.${id}`), "");
}

test("an event log that is slow to parse does not block the requests of other accounts", async () => {
  const [attacker, other] = [await given.account(), await given.account()];
  const parse = vi.spyOn(JSON, "parse");
  const program = `${hostileLogProgram(100_000, 95_000)}\nwhile [ ! -e "$JOURNAL.$COMMAND" ]; do sleep 0.05; done`;
  const id = await submitProgram(attacker, program);
  const jobs = async () => {
    const list: { job_id: number; job_stats: object }[] = await attacker.get(`/commands/${id}/jobs`);
    return list.map(({ job_id, job_stats }) => [job_id, job_stats]);
  };
  const expected = (status: string) => [
    [1, expect.objectContaining({ status, num_stages: 100_000 })],
    [2, expect.objectContaining({ status: "failed", num_stages: 0 })],
  ];
  await expect.poll(jobs).toEqual(expected("running"));
  expect((await other.get("/account").reply()).status).toBe(200);
  release(attacker, id);
  expect((await waitForCommandEnd(attacker, id)).status).toBe("done");
  expect(await jobs()).toEqual(expected("killed"));
  const parsedHere = parse.mock.calls.filter(([text]) => text.startsWith('{"Event"'));
  expect(parsedHere).toEqual([]);
});

test.each(["1e400", "-7", "0.5", '"many"', "[[1e400]]"])(
  "the number of tasks %s in an event log does not make the jobs request fail",
  async (count) => {
    const account = await given.account();
    const event = `{"Event":"SparkListenerJobStart","Job ID":0,"Submission Time":${count},"Stage Infos":[{"Stage ID":0,"Number of Tasks":${count}}]}`;
    const id = await submitProgram(account, `echo '${event}' > "$EVENT_LOG"`);
    await waitForCommandEnd(account, id);
    expect(await account.get(`/commands/${id}/jobs`)).toMatchObject([{ job_id: 0, job_stats: { num_tasks: 0 } }]);
  },
);
