import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { Client } from "../support/client.ts";
import { submitProgram } from "../support/programs.ts";
import { PATIENCE, PROXY_SECRET, type ThreeNodes } from "./three-nodes.ts";

export function testRunningCommands({ nodes, at, db, ended, text }: ThreeNodes): void {
  describe("a command that runs on another node", () => {
    test("shows its log and output while it runs, and its results at the end", async () => {
      const storage = join(nodes.folder, "runner/accounts", String(nodes.account.accountId), "storage");
      const gate = join(storage, "gate");
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
}
