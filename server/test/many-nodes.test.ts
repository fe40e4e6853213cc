/** Two nodes on one database: the files of a command are on the node that ran it, and each node can return both's. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeAll, describe, expect, test } from "vitest";
import { useSeaweedFs } from "./seaweedfs/seaweedfs.ts";
import { Client } from "./support/client.ts";
import { submitProgram } from "./support/programs.ts";
import { useNodes } from "./support/use-nodes.ts";

const seaweedFs = useSeaweedFs();
const PATIENCE = { timeout: 45_000 };
const PROXY_SECRET = "p".repeat(32);
const nodes = useNodes(["runner", "other"], (folder) => {
  const secretFile = join(folder, "proxy-secret");
  writeFileSync(secretFile, PROXY_SECRET, { mode: 0o600 });
  return { HEADGATE_TRUSTED_PROXIES: "127.0.0.1", HEADGATE_PROXY_SECRET_FILE: secretFile };
});
const { at, idOf } = nodes;
type Name = "runner" | "other";
let isGone = false;

beforeAll(() => nodes.onlyOn("runner"));

afterEach(async () => {
  if (isGone) await nodes.start("runner");
  isGone = false;
  await nodes.onlyOn("runner");
});

async function loseRunner(): Promise<void> {
  await nodes.process("runner").crash();
  isGone = true;
}

async function ended(id: number): Promise<string> {
  return (await at("other").get(`/commands/${id}?wait_seconds=45`)).status;
}

const storage = (name: Name): string =>
  join(nodes.folder, name, "accounts", String(nodes.account.accountId), "storage");

async function useS3(): Promise<void> {
  const { endpoint, credentials } = seaweedFs;
  await at("other").put("/api/v2/accounts", {
    account: {
      defloc: `s3://${await seaweedFs.bucket()}/x`,
      storage_access_key: credentials.accessKeyId,
      storage_secret_key: credentials.secretAccessKey,
      storage_endpoint: endpoint,
    },
  });
}

async function published(): Promise<void> {
  await expect.poll(() => nodes.db.system.query("select from command_publishing"), PATIENCE).toEqual([]);
}

const text = async (through: Name, path: string): Promise<string> => {
  const reply = await at(through).get(path).reply();
  expect(reply.status, reply.text).toBe(200);
  return reply.text;
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
    nodes.db.system.query("update account set features = $1 where id = $2", [features, nodes.account.accountId]);
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

describe("when the node that ran a command is gone", () => {
  test("its results and log come from the account's storage on S3, and its jobs are not available", async () => {
    await useS3();
    const id = await submitProgram(at("other"), "echo out; echo err >&2");
    const silent = await submitProgram(at("other"), "true");
    const large = await submitProgram(at("other"), "head -c 20971520 /dev/zero");
    const failed = await submitProgram(at("other"), "echo out; exit 3");
    for (const each of [id, silent, large]) expect(await ended(each)).toBe("done");
    expect(await ended(failed)).toBe("error");
    await published();
    await loseRunner();
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

  test("files that exist only on that node are unavailable for now, and the message names the node", async () => {
    await at("other").put("/api/v2/accounts", { account: { defloc: "" } });
    const id = await submitProgram(at("other"), "echo out; echo err >&2");
    expect(await ended(id)).toBe("done");
    await published();
    await loseRunner();
    for (const path of ["results", "logs", "logs?follow=true", "error_logs", "jobs", "status_with_results"]) {
      await at("other")
        .get(`/commands/${id}/${path}`)
        .refused(503, new RegExp(`on the node ${idOf("runner")}`));
    }
    await nodes.start("runner");
    isGone = false;
    await expect
      .poll(async () => (await at("other").get(`/commands/${id}/results`).reply()).status, PATIENCE)
      .toBe(200);
  });
});

test("attempts on several nodes have one log, which each node shows", async () => {
  await useS3();
  const id = await submitProgram(at("other"), 'echo "attempt $ATTEMPT" >&2; [ "$ATTEMPT" = 2 ]', {
    retry: 1,
    retry_delay: 1,
  });
  await expect
    .poll(
      () => nodes.db.system.query("select from command where id = $1 and attempt = 1 and node_id is null", [id]),
      PATIENCE,
    )
    .toHaveLength(1);
  await published();
  await nodes.onlyOn("other");
  await nodes.db.system.query("update command set due_at = now() where id = $1", [id]);
  expect(await ended(id)).toBe("done");
  await published();
  const log = await text("other", `/commands/${id}/logs`);
  expect(log).toMatch(/^attempt 1\nheadgate: exit code 1; .*\nattempt 2\n$/);
  expect(await text("runner", `/commands/${id}/logs`)).toBe(log);
  await loseRunner();
  expect(await text("other", `/commands/${id}/logs?err_file_processed=8`)).toBe(log.slice(8));
});
