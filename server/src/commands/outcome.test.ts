import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { useServer, type AccountClient } from "../../test/support/given.ts";
import { runProgram, submitProgram } from "../../test/support/programs.ts";
import { REFUSED_PROGRAM, stubDriver } from "../../test/support/stub-driver.ts";
import { withoutId } from "../../test/support/without-id.ts";
import { commandFiles } from "./execution/command-files.ts";

const given = useServer({ driver: stubDriver, settings: { HEADGATE_IDENTIFIER_PREFIX: "acme" } });
const PATIENCE = { timeout: 45_000 };

/** A command that does not end before `letGo`. */
async function held(account: AccountClient, program: string): Promise<{ id: number; letGo: () => void }> {
  const id = await submitProgram(
    account,
    `${program}; while [ ! -e "$JOURNAL.$COMMAND" ]; do sleep 0.05; done; echo last`,
  );
  const file = join(given.dataDir, "accounts", String(account.accountId), "storage", `journal.${id}`);
  return { id, letGo: () => writeFileSync(file, "") };
}

const filesOf = (account: AccountClient, id: number, attempt = 1) =>
  commandFiles(given.dataDir, account.accountId, id).attempt(attempt);

async function bytesOf(account: AccountClient, path: string): Promise<Buffer> {
  const response = await fetch(`${given.base}/api/v1.2${path}`, { headers: { "X-AUTH-TOKEN": account.token ?? "" } });
  expect(response.status).toBe(200);
  return Buffer.from(await response.arrayBuffer());
}

describe("GET commands/<id>/results", () => {
  test("returns exactly what the program printed on its standard output", async () => {
    const account = await given.account();
    const id = await runProgram(account, String.raw`printf 'a\tb\r\n"svc_users"\n'; echo err >&2`);
    const expected = { inline: true, results: 'a\tb\r\n"svc_users"\n' };
    expect(await account.get(`/commands/${id}/results`)).toEqual(expected);
    expect(await account.get(`/commands/${id}/results?include_headers=true&raw=1`)).toEqual(expected);
  });

  test("has U+FFFD where the output is not UTF-8; format=raw returns the exact bytes", async () => {
    const account = await given.account();
    const id = await runProgram(account, String.raw`printf '\357\273\277\303\251\377\000x'`);
    expect((await account.get(`/commands/${id}/results`)).results).toBe("\ufeffé\ufffd\u0000x");
    expect(await bytesOf(account, `/commands/${id}/results?format=raw`)).toEqual(
      Buffer.from([0xef, 0xbb, 0xbf, 0xc3, 0xa9, 0xff, 0, 0x78]),
    );
  });

  test("refuses all formats but text and raw for a program, and never reads anything in place of its file", async () => {
    const account = await given.account();
    const id = await runProgram(account, "echo 1");
    for (const format of ["json", "csv", "arrow", "xml"]) {
      await account.get(`/commands/${id}/results?format=${format}`).refused(422, /^format must be/);
    }
    const { output } = filesOf(account, id);
    const replacements = {
      nothing: () => undefined,
      link: () => symlinkSync("/etc/passwd", output),
      pipe: () => execFileSync("mkfifo", [output]),
      folder: () => mkdirSync(output),
    };
    for (const replace of Object.values(replacements)) {
      rmSync(output, { force: true });
      replace();
      await account.get(`/commands/${id}/results`).refused(422, /removed/);
    }
  });

  test("keeps characters whole that span two chunks of the file", async () => {
    const account = await given.account();
    const id = await runProgram(account, String.raw`printf x; yes 'é😀' | head -n 60000`);
    expect((await account.get(`/commands/${id}/results`)).results).toBe(`x${"é😀\n".repeat(60_000)}`);
  });

  test("names the object in the account's storage for 20 MiB and more, which has the same bytes", async () => {
    const account = await given.account();
    const id = await runProgram(account, "head -c 20971520 /dev/zero");
    const { inline, result_location: location, ...rest } = await account.get(`/commands/${id}/results`);
    expect([inline, rest]).toEqual([false, {}]);
    const { storage_location: root } = await account.get("/account");
    expect(location).toEqual([
      expect.stringMatching(new RegExp(`^${root}/tmp/[-0-9]{10}/${account.accountId}/${id}/`)),
    ]);
    expect(readFileSync(new URL(location[0])).equals(Buffer.alloc(20_971_520))).toBe(true);
    expect((await account.get(`/commands/${id}/results`)).result_location).toEqual(location);
    expect((await bytesOf(account, `/commands/${id}/results?format=raw`)).length).toBe(20_971_520);
    expect(await account.get(`/commands/${id}/status_with_results`)).toMatchObject({ inline: false, results: null });
  });

  test("names that object for inline=false whatever the size, even if nothing was printed", async () => {
    const account = await given.account();
    for (const [script, printed] of [
      ["echo 1", "1\n"],
      ["true", ""],
    ] as const) {
      const id = await runProgram(account, script);
      for (const query of ["inline=False&include_headers=false", "inline=false"]) {
        const { inline, result_location: location } = await account.get(`/commands/${id}/results?${query}`);
        expect([inline, readFileSync(new URL(location[0]), "utf8")]).toEqual([false, printed]);
      }
      expect(await account.get(`/commands/${id}/results?inline=true`)).toEqual({ inline: true, results: printed });
      expect(await bytesOf(account, `/commands/${id}/results?inline=false&format=raw`)).toEqual(Buffer.from(printed));
      await account.get(`/commands/${id}/results?inline=maybe`).refused(422, /^inline must be a boolean/);
    }
  });

  test("is refused before the end, and returns what a program printed before it was cancelled", async () => {
    const account = await given.account();
    const { id } = await held(account, "echo x");
    await account.get(`/commands/${id}/results`).refused(422, /ended/);
    await expect.poll(() => account.get(`/commands/${id}/logs`).reply(), PATIENCE).toMatchObject({ text: "x\n" });
    await account.put(`/commands/${id}`);
    expect((await account.get(`/commands/${id}?wait_seconds=60`)).status).toBe("cancelled");
    expect(await account.get(`/commands/${id}/results`)).toEqual({ inline: true, results: "x\n" });
  });

  test("returns what the last attempt of a failed program printed, until it is removed", async () => {
    const account = await given.account();
    const id = await runProgram(account, 'echo "printed $ATTEMPT"; exit 3', { retry: 1, retry_delay: 0 });
    expect(await account.get(`/commands/${id}/results`)).toEqual({ inline: true, results: "printed 2\n" });
    expect(await bytesOf(account, `/commands/${id}/results?format=raw`)).toEqual(Buffer.from("printed 2\n"));
    const { result_location: location } = await account.get(`/commands/${id}/results?inline=false`);
    expect(readFileSync(new URL(location[0]), "utf8")).toBe("printed 2\n");
    expect((await account.get(`/commands/${id}/status_with_results`)).results).toBe(null);
    rmSync(filesOf(account, id, 2).output);
    await account.get(`/commands/${id}/results`).refused(422, /removed/);
  });

  test("is refused with the state of a program that never began", async () => {
    const account = await given.account();
    const failed = await runProgram(account, REFUSED_PROGRAM);
    await account.get(`/commands/${failed}/results`).refused(422, /failed/);
    await account.get(`/commands/${failed}/results?format=raw`).refused(422, /failed/);
  });
});

describe("GET commands/<id>/status_with_results", () => {
  test("waits for the end, then has status and results", async () => {
    const account = await given.account();
    const { id, letGo } = await held(account, "echo first");
    const before = await account.get(`/commands/${id}/status_with_results`);
    expect(before).toMatchObject({ id, progress: 0, error: null, inline: null, results: null });
    const waiting = account.get(`/commands/${id}/status_with_results?wait_seconds=60`).reply();
    await expect.poll(() => account.get(`/commands/${id}`), PATIENCE).toMatchObject({ pid: expect.any(Number) });
    letGo();
    expect(JSON.parse((await waiting).text)).toEqual({
      id,
      status: "done",
      progress: 100,
      error: null,
      inline: true,
      results: "first\nlast\n",
    });
  });

  test("says why a command failed", async () => {
    const account = await given.account();
    const id = await runProgram(account, "exit 3");
    const { status, error, inline } = await account.get(`/commands/${id}/status_with_results`);
    expect({ status, error, inline }).toEqual({ status: "error", error: "exit code 3", inline: null });
    await account.get(`/commands/${id}/status_with_results?wait_seconds=61`).refused(422, /^wait_seconds/);
  });
});

describe("GET commands/<id>/attempts", () => {
  test("returns every attempt with its end", async () => {
    const account = await given.account();
    const id = await runProgram(account, '[ "$ATTEMPT" = 2 ]', { retry: 1, retry_delay: 0 });
    const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    expect(await account.get(`/commands/${id}/attempts`)).toEqual({
      attempts: [
        { number: 1, started_at: time, ended_at: time, exit_code: 1, cause: "exit code 1" },
        { number: 2, started_at: time, ended_at: time, exit_code: 0, cause: null },
      ],
    });
  });
});

describe("GET commands/<id>/jobs", () => {
  const recorded = readFileSync(
    new URL("../engines/spark-submit/event-log/fixtures/three-jobs.jsonl", import.meta.url),
    "utf8",
  );

  test("returns the jobs of the event log; one that was running at the end is killed", async () => {
    const account = await given.account();
    const id = await runProgram(account, "echo 1");
    expect(await account.get(`/commands/${id}/jobs`)).toEqual([]);
    const started = '{"Event":"SparkListenerJobStart","Job ID":3,"Submission Time":1e300,"Stage Infos":[]}\n';
    writeFileSync(filesOf(account, id).eventLog, `${recorded}${started}`);
    const jobs: { job_id: number; url: null; job_stats: { status: string } }[] = await account.get(
      `/commands/${id}/jobs`,
    );
    expect(jobs.map(({ job_id, url, job_stats }) => [job_id, url, job_stats.status])).toEqual([
      [0, null, "succeeded"],
      [1, null, "succeeded"],
      [2, null, "failed"],
      [3, null, "killed"],
    ]);
    expect(jobs[0]?.job_stats).toMatchObject({ num_tasks: 6, num_completed_tasks: 6, num_stages: 2 });
  });

  test("follows no link and waits for no pipe that a program put in place of the event log", async () => {
    const account = await given.account();
    const id = await runProgram(account, "echo 1");
    const { eventLog } = filesOf(account, id);
    const elsewhere = `${given.dataDir}/elsewhere`;
    writeFileSync(elsewhere, recorded);
    symlinkSync(elsewhere, eventLog);
    expect(await account.get(`/commands/${id}/jobs`)).toEqual([]);
    rmSync(eventLog);
    execFileSync("mkfifo", [eventLog]);
    expect(await account.get(`/commands/${id}/jobs`)).toEqual([]);
  });
});

describe("a user who may not read commands", () => {
  let account: AccountClient;
  let other: AccountClient;
  let id = 0;
  beforeAll(async () => {
    [account, other] = [await given.account(), await given.account()];
    id = await runProgram(account, "echo 1");
  });

  test.each(["results", "logs", "logs?follow=true", "error_logs", "jobs", "attempts", "status_with_results"])(
    "does not get %s, and another account cannot tell that there are any",
    async (what) => {
      expect((await account.get(`/commands/${id}/${what}`).reply()).status).toBe(200);
      const user = await given.member(account, { groups: ["system-user"] });
      expect((await user.get(`/commands/${id}/${what}`).reply()).status).toBe(200);
      await (await given.member(account)).get(`/commands/${id}/${what}`).refused(403);
      const foreign = await other.get(`/commands/${id}/${what}`).refused(404);
      const unknown = await other.get(`/commands/987654321/${what}`).refused(404);
      expect(withoutId(foreign, id)).toBe(withoutId(unknown, "987654321"));
    },
  );
});
