import { rmSync, writeFileSync } from "node:fs";
import { beforeAll, describe, expect, test } from "vitest";
import { submitProgram } from "../support/programs.ts";
import { PATIENCE, PROMPT_MS, until, type ThreeNodes } from "./three-nodes.ts";

/** Ends the node `runner` and starts it again. */
export function testLostNode(three: ThreeNodes): void {
  const { nodes, at, idOf, db, ended, text, makeDue, setState, silenceFile } = three;
  const { newS3Folder, setDefloc, createApp, queryOn, appStatuses, submitCopies } = three;
  const published = () => until(async () => expect(await db().query("select from command_publishing")).toEqual([]));

  /** Each test continues from the state that the previous one left. */
  describe("a node that ran commands", () => {
    const submittedBefore = { id: 0, silent: 0, large: 0, failed: 0, retried: 0, local: 0, app: 0, query: 0, copy: 0 };
    let s3Folder: string;
    /** Of the command with two attempts. */
    let log: string;

    beforeAll(async () => {
      s3Folder = await newS3Folder();
      await setDefloc(s3Folder);
      submittedBefore.id = await submitProgram(at("other"), "echo out; echo err >&2");
      submittedBefore.silent = await submitProgram(at("other"), "true");
      submittedBefore.large = await submitProgram(at("other"), "head -c 20971520 /dev/zero");
      submittedBefore.failed = await submitProgram(at("other"), "echo out; exit 3");
      for (const name of ["id", "silent", "large"] as const) expect(await ended(submittedBefore[name])).toBe("done");
      expect(await ended(submittedBefore.failed)).toBe("error");
      submittedBefore.retried = await submitProgram(at("other"), 'echo "attempt $ATTEMPT" >&2; [ "$ATTEMPT" = 2 ]', {
        retry: 1,
        retry_delay: 1,
      });
      const failedOnce = "select from command where id = $1 and attempt = 1 and node_id is null";
      await until(async () => expect(await db().query(failedOnce, [submittedBefore.retried])).toHaveLength(1));
      await published();
      await nodes.onlyOn("other");
      await makeDue([submittedBefore.retried]);
      expect(await ended(submittedBefore.retried)).toBe("done");
      await published();
      log = await text("other", `/commands/${submittedBefore.retried}/logs`);
    });

    test("shows the same log of attempts on several nodes as each other node", async () => {
      expect(log).toMatch(/^attempt 1\nheadgate: exit code 1; .*\nattempt 2\n$/);
      for (const name of ["runner", "third"] as const) {
        expect(await text(name, `/commands/${submittedBefore.retried}/logs`)).toBe(log);
      }
    });

    describe("when it is gone", () => {
      beforeAll(async () => {
        await nodes.onlyOn("runner");
        await setDefloc("");
        submittedBefore.local = await submitProgram(at("other"), "echo out; echo err >&2");
        expect(await ended(submittedBefore.local)).toBe("done");
        await published();
        submittedBefore.app = await createApp();
        submittedBefore.query = await queryOn("runner", submittedBefore.app);
        const statuses = () => appStatuses(submittedBefore.app, ["other", "third"]);
        await until(async () => expect(await statuses()).toEqual(["UP", "UP"]));
        [submittedBefore.copy = 0] = await submitCopies(1);
        await nodes.process("runner").crash();
      });

      test("files that exist only on that node are unavailable for now, and the message names the node", async () => {
        for (const path of ["results", "logs", "logs?follow=true", "error_logs", "jobs", "status_with_results"]) {
          await at("other")
            .get(`/commands/${submittedBefore.local}/${path}`)
            .refused(503, new RegExp(`on the node ${idOf("runner")}`));
        }
      });

      test("its results and log come from the account's storage on S3, and its jobs are not available", async () => {
        await setDefloc(s3Folder);
        const { id, silent, large, failed } = submittedBefore;
        expect(await at("other").get(`/commands/${id}/results`)).toEqual({ inline: true, results: "out\n" });
        expect(await text("other", `/commands/${id}/results?format=raw`)).toBe("out\n");
        expect(await at("other").get(`/commands/${id}/status_with_results`)).toMatchObject({ results: "out\n" });
        expect(await text("other", `/commands/${id}/logs`)).toBe("err\n");
        expect(await text("other", `/commands/${id}/logs?err_file_processed=2`)).toBe("r\n");
        expect(await text("other", `/commands/${id}/logs?follow=true`)).toMatch(
          /data: err\n(.|\n)*event: end\ndata: done/,
        );
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
        await setDefloc(s3Folder);
        const { retried } = submittedBefore;
        expect(await text("other", `/commands/${retried}/logs`)).toBe(log);
        expect(await text("other", `/commands/${retried}/logs?err_file_processed=8`)).toBe(log.slice(8));
      });

      test("a log is unavailable if the account's new storage does not have it, even if it was just read from S3", async () => {
        await setDefloc(s3Folder);
        const path = `/commands/${submittedBefore.retried}/logs`;
        expect(await text("other", path)).toBe(log);
        await setDefloc("");
        await at("other")
          .get(path)
          .refused(503, /^The log or result cannot be read from the account's storage .*; try again\.$/);
        await at("other")
          .get(path)
          .refused(503, new RegExp(`on the node ${idOf("runner")}`));
        await setDefloc(s3Folder);
        expect(await text("other", path)).toBe(log);
      });

      test("after it fell silent, its apps are DOWN and can be stopped, and a copy whose journal it has ends as error and says what to do", async () => {
        await setState("other", "active");
        writeFileSync(silenceFile(), "");
        try {
          await expect
            .poll(() => appStatuses(submittedBefore.app, ["other", "third"]), PATIENCE)
            .toEqual(["DOWN", "DOWN"]);
          expect(await ended(submittedBefore.copy)).toBe("error");
        } finally {
          rmSync(silenceFile());
        }
        const asked = performance.now();
        expect(await at("third").put(`/api/v2/apps/${submittedBefore.app}/stop`)).toMatchObject({ status: "DOWN" });
        expect(performance.now() - asked).toBeLessThan(PROMPT_MS);
        const { attempts } = await at("other").get(`/commands/${submittedBefore.copy}/attempts`);
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

      test("after it came back, its files are available again, and the apps that were stopped meanwhile end on it", async () => {
        await nodes.start("runner");
        const reply = async () => (await at("other").get(`/commands/${submittedBefore.local}/results`).reply()).status;
        await expect.poll(reply, PATIENCE).toBe(200);
        expect(await ended(submittedBefore.query)).toBe("error");
        await expect.poll(() => appStatuses(submittedBefore.app), PATIENCE).toEqual(["DOWN", "DOWN", "DOWN"]);
      });
    });
  });
}
