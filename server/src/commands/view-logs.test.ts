import { rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Value } from "typebox/value";
import { describe, expect, test } from "vitest";
import { useServer, type AccountClient } from "../../test/support/given.ts";
import { runProgram, submitProgram } from "../../test/support/programs.ts";
import { REFUSAL, REFUSED_PROGRAM, stubDriver } from "../../test/support/stub-driver.ts";
import { commandFiles } from "./execution/command-files.ts";
import { viewLogs } from "./view-logs.ts";

const given = useServer({ driver: stubDriver, settings: { HEADGATE_IDENTIFIER_PREFIX: "acme" } });
const PATIENCE = { timeout: 45_000 };

/** A command that goes on after `letGo`. */
async function held(account: AccountClient, before: string, after: string) {
  const id = await submitProgram(
    account,
    `${before}; while [ ! -e "$JOURNAL.$COMMAND" ]; do sleep 0.05; done; ${after}`,
  );
  const file = join(given.dataDir, "accounts", String(account.accountId), "storage", `journal.${id}`);
  return { id, letGo: () => writeFileSync(file, "") };
}

async function logs(account: AccountClient, id: number, query = "") {
  const { status, headers, text } = await account.get(`/commands/${id}/logs${query}`).reply();
  expect([status, headers.get("content-type")]).toEqual([200, "text/plain; charset=utf-8"]);
  return { text, err: headers.get("err_length"), tmp: headers.get("tmp_length") };
}

interface Event {
  event: string;
  id: string | undefined;
  data: string;
}

/** Every event is one that the OpenAPI document describes. */
function checkDocumented(event: string, id: string | undefined, data: string): void {
  const documented = viewLogs.eventStream?.events[event];
  if (documented === undefined) throw new Error(`no event ${event} is documented`);
  expect(Value.Check(documented.data, data), `data of ${event}`).toBe(true);
  expect(documented.id === undefined ? id === undefined : Value.Check(documented.id, id), `id of ${event}`).toBe(true);
}

/** The events of a followed log, one by one; breaking off closes the connection. */
async function* follow(account: AccountClient, id: number, query = ""): AsyncGenerator<Event> {
  const response = await fetch(`${given.base}/api/v1.2/commands/${id}/logs?follow=true${query}`, {
    headers: { "X-AUTH-TOKEN": account.token ?? "" },
  });
  expect([response.status, response.headers.get("content-type")]).toEqual([200, "text/event-stream; charset=utf-8"]);
  if (response.body === null) throw new Error("no body");
  let text = "";
  for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
    text += piece;
    for (let end = text.indexOf("\n\n"); end !== -1; end = text.indexOf("\n\n")) {
      const lines = text.slice(0, end).split("\n");
      text = text.slice(end + 2);
      const field = (name: string): string[] =>
        lines.filter((line) => line.startsWith(`${name}: `)).map((line) => line.slice(name.length + 2));
      const [event] = field("event");
      if (event !== undefined) checkDocumented(event, field("id")[0], field("data").join("\n"));
      if (event !== undefined) yield { event, id: field("id")[0], data: field("data").join("\n") };
    }
  }
}

describe("GET commands/<id>/logs", () => {
  test("returns the log; the output of an ended command is its result", async () => {
    const account = await given.account();
    const id = await runProgram(account, 'echo out; echo \'{"svc_users":"é"}\' >&2');
    expect(await logs(account, id)).toEqual({ text: '{"svc_users":"é"}\n', err: "19", tmp: "0" });
  });

  test("of a running command also returns its output so far, each from its own offset", async () => {
    const account = await given.account();
    const { id, letGo } = await held(account, "echo printed; echo noted >&2", "echo more; echo again >&2");
    await expect.poll(() => logs(account, id), PATIENCE).toEqual({ text: "noted\nprinted\n", err: "6", tmp: "8" });
    const beyond = (err: number, tmp: number) =>
      logs(account, id, `?err_file_processed=${err}&tmp_file_processed=${tmp}`);
    expect(await beyond(2, 5)).toEqual({ text: "ted\ned\n", err: "4", tmp: "3" });
    expect(await beyond(6, 8)).toEqual({ text: "", err: "0", tmp: "0" });
    expect(await beyond(600, 0)).toEqual({ text: "printed\n", err: "0", tmp: "8" });
    letGo();
    await account.get(`/commands/${id}?wait_seconds=60`);
    expect(await beyond(6, 8)).toEqual({ text: "again\n", err: "6", tmp: "0" });
  });

  test("returns the logs of all attempts in their order, so that offsets stay valid", async () => {
    const account = await given.account();
    const id = await runProgram(account, 'echo "attempt $ATTEMPT" >&2; [ "$ATTEMPT" = 2 ]', {
      retry: 1,
      retry_delay: 0,
    });
    const { text } = await logs(account, id);
    expect(text).toMatch(/^attempt 1\nheadgate: exit code 1; the next attempt follows in 0 seconds\nattempt 2\n$/);
    expect((await logs(account, id, `?err_file_processed=${text.length - 4}`)).text).toBe("t 2\n");
    expect((await logs(account, id, "?err_file_processed=3")).text).toBe(text.slice(3));
  });

  test("of a command that could not run says why", async () => {
    const account = await given.account();
    const id = await runProgram(account, REFUSED_PROGRAM);
    expect((await logs(account, id)).text).toContain(REFUSAL);
  });

  test("refuses queries that are not valid", async () => {
    const account = await given.account();
    const id = await runProgram(account, "true");
    for (const query of ["err_file_processed=-1", "tmp_file_processed=x", "follow=perhaps"]) {
      await account.get(`/commands/${id}/logs?${query}`).refused(422, new RegExp(`^${query.split("=")[0]}`));
    }
  });

  test("logs and error_logs are refused when the log was removed, and never follow a link in its place", async () => {
    const account = await given.account();
    const id = await runProgram(account, "echo x >&2");
    const { log } = commandFiles(given.dataDir, account.accountId, id).attempt(1);
    const paths = ["logs", "logs?follow=true", "error_logs"].map((path) => `/commands/${id}/${path}`);
    for (const path of paths) expect((await account.get(path).reply()).status).toBe(200);
    rmSync(log);
    const removed = /^logs of this command have been removed from the server/;
    for (const path of paths) await account.get(path).refused(422, removed);
    symlinkSync("/etc/passwd", log);
    for (const path of paths) await account.get(path).refused(422, removed);
  });
});

describe("GET commands/<id>/logs?follow=true", () => {
  test("sends whole lines as they are written, until the command has ended", async () => {
    const account = await given.account();
    const { id, letGo } = await held(account, "echo one; echo two >&2; printf ha", "echo lf; printf 'a\\rb' >&2");
    // Lines that were written before the first poll are sent in the order of the two files.
    await expect.poll(async () => (await logs(account, id)).text, PATIENCE).toBe("two\none\nha");
    const seen: Event[] = [];
    for await (const event of follow(account, id)) {
      seen.push(event);
      if (event.data === "one") letGo();
    }
    expect(seen.slice(0, 2).map(({ event, data }) => `${event} ${data}`)).toEqual(["err two", "tmp one"]);
    const joined = (kind: string) => seen.filter(({ event }) => event === kind).map(({ data }) => data);
    expect(joined("tmp").join("\n")).toBe("one\nhalf");
    expect(joined("err").join("\n")).toBe("two\na\nb");
    expect(seen.at(-1)).toEqual({ event: "end", id: undefined, data: "done" });
    expect(seen.at(-2)?.id).toBe("7,9");
  });

  test("continues from offsets, and cuts only lines longer than an event, between characters", async () => {
    const account = await given.account();
    const id = await runProgram(account, "head -c 150000 /dev/zero | tr '\\0' x | sed 's/x/é/g' >&2; echo out");
    const seen: string[] = [];
    for await (const { data } of follow(account, id, "&err_file_processed=2")) seen.push(data);
    expect(seen.pop()).toBe("done");
    expect(seen.length).toBeGreaterThan(3);
    expect(seen.join("")).toBe("é".repeat(149_999));
  });

  test("is limited for each user, and a slot is free again when a client disconnects", async () => {
    const account = await given.account();
    const { id, letGo } = await held(account, "echo one", "true");
    const followers = Array.from({ length: 10 }, () => follow(account, id));
    for (const follower of followers) expect((await follower.next()).value).toMatchObject({ data: "one" });
    const refusal = await account.get(`/commands/${id}/logs?follow=true`).refused(429, /follow/);
    expect(refusal.headers.get("retry-after")).toBe("30");
    await followers[0]?.return(undefined);
    await expect
      .poll(async () => {
        const reply = await fetch(`${given.base}/api/v1.2/commands/${id}/logs?follow=true`, {
          headers: { "X-AUTH-TOKEN": account.token ?? "" },
        });
        await reply.body?.cancel();
        return reply.status;
      })
      .toBe(200);
    letGo();
    for (const follower of followers.slice(1)) {
      const rest: string[] = [];
      for await (const { data } of follower) rest.push(data);
      expect(rest.at(-1)).toBe("done");
    }
  });
});

describe("GET commands/<id>/error_logs", () => {
  test("returns the log; of a long one the last MiB, beginning with a whole line", async () => {
    const account = await given.account();
    const short = await runProgram(account, String.raw`printf 'no \377 text\n' >&2; exit 4`);
    expect(await account.get(`/commands/${short}/error_logs`)).toEqual({
      error_log: "no \ufffd text\nheadgate: exit code 4\n",
    });
    const long = await runProgram(account, "seq 1000000 1300000 >&2; echo end >&2");
    const { error_log: text } = await account.get(`/commands/${long}/error_logs`);
    expect(text.length).toBeGreaterThan(1024 * 1024 - 10);
    expect(text.length).toBeLessThanOrEqual(1024 * 1024);
    expect(text).toMatch(/^\d{7}\n/);
    expect(text).toMatch(/1300000\nend\n$/);
  });
});
