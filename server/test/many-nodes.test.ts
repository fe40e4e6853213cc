/**
 * Three nodes on one database: the files of a command are on the node that ran it, an app's server may run on each of
 * them, and later attempts of a copy run only on the node that has its journal. Each node can report on all of this.
 */
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import type { Queryable } from "../src/db/database.ts";
import { useSeaweedFs } from "./seaweedfs/seaweedfs.ts";
import { Client } from "./support/client.ts";
import { submitProgram } from "./support/programs.ts";
import { scriptConnect, type ScriptedConnect } from "./support/scripted-connect.ts";
import { copyEnd, printReport, submitCopy } from "./support/stub-copy.ts";
import { useNodes } from "./support/use-nodes.ts";

const seaweedFs = useSeaweedFs();
const PATIENCE = { timeout: 45_000 };
/** Much less than the timeout of a statement that never ends. */
const PROMPT_MS = 9000;
const PROXY_SECRET = "p".repeat(32);
const NAMES = ["runner", "other", "third"] as const;
type Name = (typeof NAMES)[number];
/** While this file exists, nodes without heartbeats become silent within seconds. */
const silenceIn = (folder: string): string => join(folder, "silence");
const nodes = useNodes(NAMES, (folder) => {
  const secretFile = join(folder, "proxy-secret");
  writeFileSync(secretFile, PROXY_SECRET, { mode: 0o600 });
  return {
    HEADGATE_TRUSTED_PROXIES: "127.0.0.1",
    HEADGATE_PROXY_SECRET_FILE: secretFile,
    HEADGATE_LEASE_SECONDS: "20", // each node checks the others once a second
    TEST_SILENCE: silenceIn(folder),
    TEST_STUB_COPIES: "1",
  };
});
const { at, idOf } = nodes;
const db = (): Queryable => nodes.db.system;

let connect: ScriptedConnect;
beforeAll(async () => {
  // Every statement runs for ever.
  connect = await scriptConnect(Array.from({ length: 100 }, () => ["stay"] as const));
  const engine = { type: "connect", url: `sc://127.0.0.1:${connect.port}` };
  await at("other").post("/api/v2/clusters", { labels: ["remote"], engine });
});
afterAll(() => connect.stop());

beforeAll(() => nodes.onlyOn("runner"));
afterEach(() => nodes.onlyOn("runner"));

/** Hooks cannot use `expect.poll`. */
const until = (check: () => Promise<void> | void): Promise<void> => vi.waitFor(check, PATIENCE);

async function ended(id: number): Promise<string> {
  return (await at("other").get(`/commands/${id}?wait_seconds=45`)).status;
}

const storage = (name: Name): string =>
  join(nodes.folder, name, "accounts", String(nodes.account.accountId), "storage");

async function setDefloc(defloc: string): Promise<void> {
  const { endpoint, credentials } = seaweedFs;
  await at("other").put("/api/v2/accounts", {
    account: {
      defloc,
      storage_access_key: credentials.accessKeyId,
      storage_secret_key: credentials.secretAccessKey,
      storage_endpoint: endpoint,
    },
  });
}

async function published(): Promise<void> {
  await until(async () => expect(await db().query("select from command_publishing")).toEqual([]));
}

const text = async (through: Name, path: string): Promise<string> => {
  const reply = await at(through).get(path).reply();
  expect(reply.status, reply.text).toBe(200);
  return reply.text;
};

async function createApp(): Promise<number> {
  return (await at("other").post("/api/v2/apps", { name: "reports" })).id;
}

/** Starts a query that runs on that node until it is ended. */
async function queryOn(name: Name, appId: number): Promise<number> {
  await nodes.onlyOn(name);
  const started = connect.starts.length;
  const { id } = await at("third").post("/commands", {
    command_type: "SparkCommand",
    sql: "select 1",
    label: "remote",
    app_id: appId,
  });
  await until(() => expect(connect.starts.length).toBeGreaterThan(started));
  expect(await db().query("select from command where id = $1 and node_id = $2", [id, idOf(name)])).toHaveLength(1);
  return id;
}

const appStatuses = (appId: number, of: readonly Name[] = NAMES): Promise<string[]> =>
  Promise.all(of.map(async (name) => (await at(name).get(`/api/v2/apps/${appId}`)).status));

/** The first attempt leaves a mark in the journal's folder and fails; the next one succeeds only where the mark is. */
const CONTINUES = `
  journal=$(sed -n 's/.*"journalFolder":"\\([^"]*\\)".*/\\1/p' "$REQUEST")
  if [ -e "$journal/mark" ]; then ${printReport(copyEnd())}; else touch "$journal/mark"; exit 1; fi`;

/** Copies whose first attempt has failed on the node `runner`, and whose next one is not due yet. */
async function submitted(count: number): Promise<number[]> {
  const ids: number[] = [];
  for (let each = 0; each < count; each += 1)
    ids.push(await submitCopy(at("other"), CONTINUES, { retry: 1, retry_delay: 5 }));
  const failed =
    "select id from command where id = any ($1) and attempt = 1 and status = 'running' and node_id is null";
  await until(async () => expect(await db().query(failed, [ids])).toHaveLength(count));
  return ids;
}

async function makeDue(ids: readonly number[]): Promise<void> {
  await db().query("update command set due_at = now() where id = any ($1)", [ids]);
}

const setState = async (name: Name, state: string): Promise<void> => {
  await db().query("update node set state = $2 where id = $1", [idOf(name), state]);
};

describe("a command that runs on another node", () => {
  test("shows its log and output while it runs, and its results at the end", async () => {
    const gate = join(storage("runner"), "gate");
    const id = await submitProgram(
      at("other"),
      `echo one; echo two >&2; while [ ! -e ${gate} ]; do sleep 0.05; done; echo three`,
    );
    await expect.poll(() => text("other", `/commands/${id}/logs`), PATIENCE).toBe("two\none\n");
    const { headers } = await at("other").get(`/commands/${id}/logs?err_file_processed=1`).reply();
    expect([headers.get("err_length"), headers.get("tmp_length")]).toEqual(["3", "4"]);
    expect(await at("other").get(`/commands/${id}/jobs`)).toEqual([]);
    const waiting = at("other").get(`/commands/${id}/status_with_results?wait_seconds=45`).reply();
    const response = await fetch(`${nodes.process("other").url}/api/v1.2/commands/${id}/logs?follow=true`, {
      headers: { "X-AUTH-TOKEN": nodes.account.token },
    });
    expect(response.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
    let followed = "";
    for await (const piece of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      followed += piece;
      if (followed.includes("data: one")) writeFileSync(gate, "");
    }
    const lines = followed.match(/^(event|id|data): .*$/gm)?.join("; ");
    expect(lines).toBe(
      "event: err; id: 4,0; data: two; event: tmp; id: 4,4; data: one; " +
        "event: tmp; id: 4,10; data: three; event: end; data: done",
    );
    expect((await waiting).body).toMatchObject({ status: "done", inline: true, results: "one\nthree\n" });
    for (const path of ["results", "results?format=raw", "error_logs", "logs", "jobs", "status_with_results"]) {
      expect(await text("other", `/commands/${id}/${path}`)).toBe(await text("runner", `/commands/${id}/${path}`));
    }
  });

  test("is returned after a failure, and refused, as on its own node", async () => {
    const id = await submitProgram(at("other"), "echo x; exit 3");
    expect(await ended(id)).toBe("error");
    expect(await text("other", `/commands/${id}/results?format=raw`)).toBe("x\n");
    for (const path of ["results?format=csv", "logs?err_file_processed=-1"]) {
      const refusal = await at("other").get(`/commands/${id}/${path}`).refused(422);
      expect(refusal.text).toBe((await at("runner").get(`/commands/${id}/${path}`).refused(422)).text);
    }
    await new Client(nodes.process("other").url).get(`/commands/${id}/logs`).refused(401);
  });
});

test("the caller's address counts on the node that a request is forwarded to", async () => {
  const id = await submitProgram(at("other"), "echo x >&2");
  expect(await ended(id)).toBe("done");
  const setFeatures = (features: string) =>
    db().query("update account set features = $1 where id = $2", [features, nodes.account.accountId]);
  await at("other").post("/whitelist_ip", { ip_cidr: "203.0.113.7" });
  await setFeatures("{ip_whitelisting}");
  try {
    const headers = { "X-Forwarded-For": "203.0.113.7", "X-Headgate-Proxy": PROXY_SECRET };
    const reply = await at("other").get(`/commands/${id}/logs`, { headers }).reply();
    expect([reply.status, reply.text]).toEqual([200, "x\n"]);
    const bearer = { headers: { ...headers, Authorization: `Bearer ${nodes.account.token}` } };
    const same = await new Client(nodes.process("other").url).get(`/commands/${id}/logs`, bearer).reply();
    expect([same.status, same.text]).toEqual([200, "x\n"]);
    const forged = { headers: { ...headers, "X-Headgate-Proxy": "node 1 x" } };
    for (const name of ["other", "runner"] as const) await at(name).get(`/commands/${id}/logs`, forged).refused(403);
  } finally {
    await setFeatures("{}");
  }
});

describe("an app whose server runs on another node", () => {
  let appId: number;
  beforeEach(async () => {
    appId = await createApp();
  });
  const statuses = (of?: readonly Name[]): Promise<string[]> => appStatuses(appId, of);

  test("is UP on every node, and a stop on any node ends it together with its queries", async () => {
    const id = await queryOn("runner", appId);
    await expect.poll(() => statuses(), PATIENCE).toEqual(["UP", "UP", "UP"]);
    expect((await at("other").get("/api/v2/apps?per_page=100")).apps.at(-1)).toMatchObject({ id: appId, status: "UP" });
    const asked = performance.now();
    expect(await at("third").put(`/api/v2/apps/${appId}/stop`)).toMatchObject({ id: appId, status: "DOWN" });
    expect(performance.now() - asked).toBeLessThan(PROMPT_MS);
    expect(await ended(id)).toBe("error");
    expect(await statuses()).toEqual(["DOWN", "DOWN", "DOWN"]);

    // The error is the same as for a stop on the node itself.
    const local = await queryOn("runner", appId);
    await expect.poll(() => statuses(["third"]), PATIENCE).toEqual(["UP"]); // a later command started it again
    expect(await at("runner").put(`/api/v2/apps/${appId}/stop`)).toMatchObject({ status: "DOWN" });
    expect(await ended(local)).toBe("error");
    for (const each of [id, local]) {
      const { attempts } = await at("third").get(`/commands/${each}/attempts`);
      expect(attempts).toMatchObject([{ cause: "its Spark server was stopped" }]);
    }
    await expect.poll(() => statuses(), PATIENCE).toEqual(["DOWN", "DOWN", "DOWN"]);
  });

  test("is stopped on all nodes at once", async () => {
    const ids = [await queryOn("other", appId), await queryOn("runner", appId)];
    await expect
      .poll(() => db().query("select from app_server where app_id = $1 and is_up", [appId]), PATIENCE)
      .toHaveLength(2);
    await at("third").put(`/api/v2/apps/${appId}/stop`);
    for (const id of ids) expect(await ended(id)).toBe("error");
    await expect.poll(() => statuses(), PATIENCE).toEqual(["DOWN", "DOWN", "DOWN"]);
  });

  test("shows UP in the response to a stop while a live node has not ended it", async () => {
    await db().query(
      `insert into node (id, host, boot_id, state, memory_budget_mib, version)
       values ('00000000-0000-4000-8000-000000000001', 'stuck', 'boot', 'paused', 1000, '1')`,
    );
    await db().query(
      `insert into app_server (app_id, node_id, generation, is_up)
       values ($1, '00000000-0000-4000-8000-000000000001', 0, true)`,
      [appId],
    );
    expect(await at("third").put(`/api/v2/apps/${appId}/stop`)).toMatchObject({ status: "UP" });
    await db().query("delete from node where host = 'stuck'");
    expect(await statuses()).toEqual(["DOWN", "DOWN", "DOWN"]);
  });
});

test("copies wait for the node that has their journal, say so, and hold up no others on an idle node", async () => {
  const ids = await submitted(4);
  await nodes.onlyOn("other");
  await makeDue(ids);
  const has = `its next attempt has to run on node ${idOf("runner")}, which has the journal of the copy`;
  for (const name of ["runner", "other"] as const) {
    await expect
      .poll(async () => (await at(name).get(`/commands/${ids[0]}`)).waiting_reason, PATIENCE)
      .toBe(`${has} and is paused`);
  }
  const other = await submitCopy(at("other"), printReport(copyEnd()));
  expect(await ended(other)).toBe("done");
  await setState("runner", "active");
  for (const id of ids) expect(await ended(id)).toBe("done");
  const attempts = await db().query("select number, node_id from command_attempt where command_id = any ($1)", [ids]);
  expect(attempts).toHaveLength(8);
  for (const attempt of attempts) expect(attempt).toMatchObject({ node_id: idOf("runner") });
});

test("a node is drained after the last attempt of its copies", async () => {
  const [id = 0] = await submitted(1);
  await setState("other", "active");
  await setState("runner", "draining");
  const state = (): Promise<object[]> => db().query("select state from node where id = $1", [idOf("runner")]);
  await makeDue([id]);
  expect(await ended(id)).toBe("done");
  await expect.poll(state, PATIENCE).toEqual([{ state: "drained" }]);
});

test("a copy ends as error if the node that has its journal was drained nevertheless", async () => {
  const [id = 0] = await submitted(1);
  await setState("other", "active");
  await setState("runner", "drained"); // as by an earlier version, which does not know of waiting copies
  expect(await ended(id)).toBe("error");
  const { attempts } = await at("other").get(`/commands/${id}/attempts`);
  const cause = `it cannot continue: node ${idOf("runner")}, which has the journal of the copy, was drained.`;
  expect(attempts).toMatchObject([{ number: 1 }, { number: 2, cause: expect.stringContaining(cause) }]);
});

/** The tests build on each other. */
describe("when the node that ran a command is gone", () => {
  const before = { id: 0, silent: 0, large: 0, failed: 0, retried: 0, log: "", local: 0, app: 0, query: 0, copy: 0 };

  let s3Folder: string;

  beforeAll(async () => {
    s3Folder = `s3://${await seaweedFs.bucket()}/x`;
    await setDefloc(s3Folder);
    before.id = await submitProgram(at("other"), "echo out; echo err >&2");
    before.silent = await submitProgram(at("other"), "true");
    before.large = await submitProgram(at("other"), "head -c 20971520 /dev/zero");
    before.failed = await submitProgram(at("other"), "echo out; exit 3");
    for (const name of ["id", "silent", "large"] as const) expect(await ended(before[name])).toBe("done");
    expect(await ended(before.failed)).toBe("error");
    before.retried = await submitProgram(at("other"), 'echo "attempt $ATTEMPT" >&2; [ "$ATTEMPT" = 2 ]', {
      retry: 1,
      retry_delay: 1,
    });
    const failedOnce = "select from command where id = $1 and attempt = 1 and node_id is null";
    await until(async () => expect(await db().query(failedOnce, [before.retried])).toHaveLength(1));
    await published();
    await nodes.onlyOn("other");
    await makeDue([before.retried]);
    expect(await ended(before.retried)).toBe("done");
    await published();
    before.log = await text("other", `/commands/${before.retried}/logs`);
    expect(before.log).toMatch(/^attempt 1\nheadgate: exit code 1; .*\nattempt 2\n$/);
    expect(await text("runner", `/commands/${before.retried}/logs`)).toBe(before.log);

    await nodes.onlyOn("runner");
    await setDefloc("");
    before.local = await submitProgram(at("other"), "echo out; echo err >&2");
    expect(await ended(before.local)).toBe("done");
    await published();
    before.app = await createApp();
    before.query = await queryOn("runner", before.app);
    await until(async () => expect(await appStatuses(before.app, ["other", "third"])).toEqual(["UP", "UP"]));
    [before.copy = 0] = await submitted(1);
    await nodes.process("runner").crash();
  });

  test("files that exist only on that node are unavailable for now, and the message names the node", async () => {
    for (const path of ["results", "logs", "logs?follow=true", "error_logs", "jobs", "status_with_results"]) {
      await at("other")
        .get(`/commands/${before.local}/${path}`)
        .refused(503, new RegExp(`on the node ${idOf("runner")}`));
    }
  });

  test("its results and log come from the account's storage on S3, and its jobs are not available", async () => {
    await setDefloc(s3Folder);
    const { id, silent, large, failed } = before;
    expect(await at("other").get(`/commands/${id}/results`)).toEqual({ inline: true, results: "out\n" });
    expect(await text("other", `/commands/${id}/results?format=raw`)).toBe("out\n");
    expect(await at("other").get(`/commands/${id}/status_with_results`)).toMatchObject({ results: "out\n" });
    expect(await text("other", `/commands/${id}/logs`)).toBe("err\n");
    expect(await text("other", `/commands/${id}/logs?err_file_processed=2`)).toBe("r\n");
    expect(await text("other", `/commands/${id}/logs?follow=true`)).toMatch(/data: err\n(.|\n)*event: end\ndata: done/);
    expect(await at("other").get(`/commands/${id}/error_logs`)).toEqual({ error_log: "err\n" });
    expect(await at("other").get(`/commands/${silent}/results`)).toEqual({ inline: true, results: "" });
    expect(await text("other", `/commands/${silent}/logs`)).toBe("");
    const { result_location: location } = await at("other").get(`/commands/${large}/results`);
    expect(location).toEqual([expect.stringMatching(/^s3:/)]);
    for (const unpublished of [`${id}/jobs`, `${failed}/results`]) {
      await at("other")
        .get(`/commands/${unpublished}`)
        .refused(503, new RegExp(idOf("runner")));
    }
  });

  test("attempts on several nodes still have one log", async () => {
    const { retried, log } = before;
    expect(await text("other", `/commands/${retried}/logs`)).toBe(log);
    expect(await text("other", `/commands/${retried}/logs?err_file_processed=8`)).toBe(log.slice(8));
  });

  test("a log that was on S3 a moment ago, and is not in the account's new storage, is unavailable", async () => {
    const path = `/commands/${before.retried}/logs`;
    expect(await text("other", path)).toBe(before.log);
    await setDefloc("");
    await at("other")
      .get(path)
      .refused(503, /^The text cannot be read from the account's storage .*; try again\.$/);
    await at("other")
      .get(path)
      .refused(503, new RegExp(`on the node ${idOf("runner")}`));
    await setDefloc(s3Folder);
    expect(await text("other", path)).toBe(before.log);
  });

  test("after it fell silent, its apps are DOWN and can be stopped, and a copy whose journal it has ends as error and says what to do", async () => {
    await setState("other", "active");
    writeFileSync(silenceIn(nodes.folder), "");
    try {
      await expect.poll(() => appStatuses(before.app, ["other", "third"]), PATIENCE).toEqual(["DOWN", "DOWN"]);
      expect(await ended(before.copy)).toBe("error");
    } finally {
      rmSync(silenceIn(nodes.folder));
    }
    const asked = performance.now();
    expect(await at("third").put(`/api/v2/apps/${before.app}/stop`)).toMatchObject({ status: "DOWN" });
    expect(performance.now() - asked).toBeLessThan(PROMPT_MS);
    const { attempts } = await at("other").get(`/commands/${before.copy}/attempts`);
    expect(attempts).toMatchObject([
      { number: 1, cause: expect.stringContaining("exit code 1") },
      {
        number: 2,
        cause:
          `it cannot continue: node ${idOf("runner")}, which has the journal of the copy, has fallen silent. Submit the ` +
          "command again with another destination, or remove what it has copied and submit it again",
      },
    ]);
  });

  test("after it came back, its files are available again, and its apps that were stopped end there", async () => {
    await nodes.start("runner");
    const reply = async () => (await at("other").get(`/commands/${before.local}/results`).reply()).status;
    await expect.poll(reply, PATIENCE).toBe(200);
    expect(await ended(before.query)).toBe("error");
    await expect.poll(() => appStatuses(before.app), PATIENCE).toEqual(["DOWN", "DOWN", "DOWN"]);
  });
});
