import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findTestBubblewrap } from "../../../test/bubblewrap/find-test-bubblewrap.ts";
import { because } from "../../../test/skip-reasons/skip-reasons.ts";
import { useServer, type AccountClient } from "../../../test/support/given.ts";
import { submitProgram } from "../../../test/support/programs.ts";
import { stubDriver } from "../../../test/support/stub-driver.ts";
import { isGroupedBySession } from "../../processes/detached-process/session-nice.ts";
import { accountIdentity } from "../execution/command-files.ts";

const bubblewrap = await findTestBubblewrap(accountIdentity(1));
const isIsolated = bubblewrap.kind === "usable";
const reason = isIsolated ? "" : bubblewrap.reason;

const isGrouped = isGroupedBySession();
const NOT_GROUPED = "the kernel does not group processes by session";

/** The stub driver is counted with 100 MB. */
const given = useServer({
  driver: stubDriver,
  settings: {
    HEADGATE_RUN_PROCESSES: "100",
    HEADGATE_RUN_MEMORY: "30m",
    HEADGATE_RUN_DISK: "16m",
    HEADGATE_OUTPUT_LIMIT: "2m",
    HEADGATE_RUN_NICE: "10",
  },
});

let account: AccountClient;
let neighbour: { stop(): Promise<string[]> };
beforeAll(async () => {
  account = await given.account();
  neighbour = keepSubmitting(await given.account());
});
afterAll(async () => {
  const ends = await neighbour.stop();
  expect(ends.length).toBeGreaterThan(0);
  expect(new Set(ends)).toEqual(new Set(["done: null"]));
});

/** One command after the other, until it is stopped. */
function keepSubmitting(client: AccountClient): { stop(): Promise<string[]> } {
  let isStopped = false;
  const ends: string[] = [];
  const work = async (): Promise<string[]> => {
    while (!isStopped) {
      const id = await submitProgram(client, "sleep 1; echo fine"); // without a pause it would take half of a core
      const { status } = await client.get(`/commands/${id}?wait_seconds=45`);
      const { attempts } = await client.get(`/commands/${id}/attempts`);
      ends.push(`${status}: ${attempts[0].cause}`);
    }
    return ends;
  };
  const worked = work();
  return {
    stop() {
      isStopped = true;
      return worked;
    },
  };
}

/** The cause that the log of the command gives. */
async function failureOf(program: string): Promise<string> {
  const id = await submitProgram(account, program);
  expect(await account.get(`/commands/${id}?wait_seconds=45`)).toMatchObject({ status: "error" });
  const { attempts } = await account.get(`/commands/${id}/attempts`);
  expect((await account.get(`/commands/${id}/error_logs`)).error_log).toContain(`headgate: ${attempts[0].cause}`);
  expect(await account.get(`/commands/${id}/results`)).toEqual({ inline: true, results: "" });
  return attempts[0].cause;
}

describe("a command that takes more than its limit ends as error and names the limit:", () => {
  test("processes", async () => {
    const bomb = "(trap '' TERM; while :; do sleep 300 & done) 2>/dev/null";
    expect(await failureOf(`while :; do ${bomb}; done`)).toMatch(/HEADGATE_RUN_PROCESSES allows 100$/);
  });

  test.skipIf(!isIsolated)("processes that the kernel has refused", because(reason), async () => {
    expect(await failureOf("while :; do sleep 300 & done")).toMatch(/HEADGATE_RUN_PROCESSES allows 100$/);
  });

  test.skipIf(!isGrouped)("sessions", because(NOT_GROUPED), async () => {
    const many = "for i in $(seq 40); do setsid sleep 300 & done; sleep 300";
    expect(await failureOf(many)).toMatch(
      /^too many sessions: .* HEADGATE_RUN_SESSIONS allows 32; start its processes without setsid$/,
    );
  });

  test("memory", async () => {
    expect(await failureOf("head -c 500000000 /dev/zero | tail | sleep 300")).toMatch(
      /^too much memory: .* its limit is 130m: use less, or .* raise HEADGATE_RUN_MEMORY$/,
    );
  });

  test.skipIf(!isIsolated)("files in /dev/shm, which count as memory", because(reason), async () => {
    const fill = "head -c 500000000 /dev/zero > /dev/shm/file; sleep 300";
    expect(await failureOf(fill)).toMatch(
      /^too much memory: .* its limit is 130m: use less, or .* raise HEADGATE_RUN_MEMORY$/,
    );
  });

  test("output", async () => {
    expect(await failureOf("head -c 3000000 /dev/zero; sleep 300")).toBe(
      "too much output: HEADGATE_OUTPUT_LIMIT allows 2m, so it has no result",
    );
  });

  test("the disk", async () => {
    expect(await failureOf("head -c 60000000 /dev/zero > file; sleep 300")).toMatch(
      /^too much disk: .* HEADGATE_RUN_DISK allows 16m$/,
    );
  });

  test("the disk, by a deleted file that is still open", async () => {
    const hidden = "exec 8> file; rm file; head -c 60000000 /dev/zero >&8; sleep 300";
    expect(await failureOf(hidden)).toMatch(/^too much disk: /);
  });

  test("the disk, in a deep folder without read permission", async () => {
    const deep = "for i in $(seq 60); do mkdir long-name-of-a-folder-$i; cd long-name-of-a-folder-$i; done";
    const hidden = `${deep}; head -c 60000000 /dev/zero > file; chmod 0 .; sleep 300`;
    expect(await failureOf(hidden)).toMatch(/^too much disk: /);
  });

  test("the disk, by many empty files", async () => {
    expect(await failureOf("mkdir many; cd many; seq 5000 | xargs touch; sleep 300")).toMatch(/^too much disk: /);
  });
});

test("a command within its limits has its whole result", async () => {
  const id = await submitProgram(account, "head -c 2000000 /dev/zero | tr '\\0' x");
  expect(await account.get(`/commands/${id}?wait_seconds=45`)).toMatchObject({ status: "done" });
  expect((await account.get(`/commands/${id}/results`)).results).toHaveLength(2_000_000);
});

test("programs have a lower processor priority than the server and are killed first when memory runs out", async () => {
  const id = await submitProgram(account, "cut -d' ' -f19 /proc/self/stat; cat /proc/self/oom_score_adj");
  expect(await account.get(`/commands/${id}?wait_seconds=45`)).toMatchObject({ status: "done" });
  expect((await account.get(`/commands/${id}/results`)).results).toBe("10\n500\n");
});

// A plain user may change one session in 100 ms.
test.skipIf(!isGrouped || process.getuid?.() !== 0)(
  "the first session of a program has the lower priority, and further ones as far as the kernel allows",
  because(isGrouped ? "a plain user cannot change sessions at any time" : NOT_GROUPED),
  async () => {
    const own = "cut -d' ' -f2- /proc/self/autogroup";
    const other = `until grep -q 'nice 19' /proc/self/autogroup; do sleep 0.05; done; ${own}`;
    const id = await submitProgram(account, `setsid -w sh -c "${other}"; ${own}`);
    expect(await account.get(`/commands/${id}?wait_seconds=45`)).toMatchObject({ status: "done" });
    expect((await account.get(`/commands/${id}/results`)).results).toBe("nice 19\nnice 10\n");
  },
);
