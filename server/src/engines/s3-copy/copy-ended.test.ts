import { randomBytes } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { CopyRun } from "../../../test/support/copy-run.ts";
import { allFiles, operationOf, useFaultyCopies } from "../../../test/support/faulty-copies.ts";
import { temporaryName } from "../../object-store/file/temporary-name.ts";
import { cleanUpCopy } from "./clean-up.ts";
import { Journal } from "./journal.ts";

/** Copies that are ended before they are complete. */
const MIB = 1024 * 1024;
const copies = useFaultyCopies();
const contents = { a: Buffer.from("small"), "b/c": randomBytes(5 * MIB + 1) };

describe("a copy that is ended", () => {
  /** Ends the copy when the relay has received this many requests of an operation. It answers none of them. */
  async function endAt(operation: string, times: number, args: string, command: string): Promise<CopyRun> {
    const ending = new AbortController();
    let met = 0;
    return copies.run(
      args,
      (request) => {
        if (operationOf(request) !== operation) return undefined;
        met += 1;
        if (met === times) ending.abort(new Error("ended by the user"));
        return { kind: "silence" };
      },
      { signal: ending.signal, command },
    );
  }

  test("while it uploads parts aborts all uploads at once", async () => {
    const src = copies.putFiles({ first: randomBytes(5 * MIB + 1), second: randomBytes(5 * MIB + 1) });
    const dest = copies.folder();
    const { end } = await endAt("PUT partNumber uploadId", 4, `--src ${src} --dest ${dest}`, "parts");
    expect(end.failure).toContain("ended by the user");
    expect(await copies.openUploads(dest)).toEqual([]);
    expect(await copies.namesBelow(dest)).toEqual([]);
  });

  test("while it reads removes its unfinished files", async () => {
    const src = await copies.put(contents);
    const { path, uri } = copies.newFiles();
    await endAt("GET", 2, `--src ${src} --dest ${uri}`, "reading");
    expect(allFiles(path).filter((name) => name !== "a")).toEqual([]);
  });

  test("while a temporary file waits removes that file", async () => {
    const src = copies.putFiles({ large: contents["b/c"] });
    const { path: tmp, uri: tmpDir } = copies.newFiles();
    const dest = copies.folder();
    const args = `--src ${src} --dest ${dest} --disableMultipartUpload --outputCodec gzip --tmpDir ${tmpDir}`;
    const { end } = await endAt("PUT", 1, args, "spooled");
    expect(end.failure).toContain("ended by the user");
    expect(allFiles(tmp)).toEqual([]);
  });

  test("while an upload is created leaves one whose id it does not know, which the clean-up aborts", async () => {
    const src = copies.putFiles({ large: contents["b/c"] });
    const dest = copies.folder();
    const command = "created";
    await endAt("POST uploads", 1, `--src ${src} --dest ${dest}`, command);
    await copies.store.createUpload(`${dest}/large`); // as if the store had received the request
    const stranger = { uri: `${dest}/large-2`, uploadId: await copies.store.createUpload(`${dest}/large-2`) };
    const request = copies.bench.request(`--src ${src} --dest ${dest}`, { command });
    expect(await cleanUpCopy(request, AbortSignal.timeout(10_000))).toBe(1);
    expect(await copies.openUploads(dest)).toEqual([stranger]);
    await copies.store.abortUpload(stranger);
  });
});

describe("the leftovers of a killed attempt", () => {
  /** As if an attempt had been killed while it wrote these. Returns the id of its journal. */
  async function left(command: string, outputs: readonly string[], temporaries: readonly string[]): Promise<string> {
    const journal = await Journal.open(copies.bench.request("", { command }).journalFolder);
    await journal.begin(outputs);
    for (const uri of temporaries) await journal.noteTemporary(uri);
    await journal.close();
    return journal.id;
  }

  test("are removed by the next attempt, even if the source is gone by then", async () => {
    const src = await copies.put({ a: "1", b: "2" });
    const { path, uri } = copies.newFiles();
    const { path: tmp, uri: tmpDir } = copies.newFiles();
    const ending = new AbortController();
    const args = `--src ${src} --dest ${uri} --tmpDir ${tmpDir}`;
    await copies.run(
      args,
      (request) => {
        if (operationOf(request) === "GET") ending.abort(new Error("killed"));
        return undefined;
      },
      { command: "gone", signal: ending.signal },
    );
    const id = await left("gone", ["b"], [`${tmpDir}/waiting`]);
    for (const location of [path, tmp]) mkdirSync(location, { recursive: true });
    const unfinished = temporaryName(id, join(path, "b").slice(copies.bench.files.length + 1));
    writeFileSync(join(path, unfinished), "half");
    writeFileSync(join(tmp, "waiting"), "whole");
    await copies.store.delete(`${src}/b`);
    const { end } = await copies.bench.run(args, { command: "gone" });
    expect(end.failure).toBeNull();
    expect(allFiles(path)).toEqual(["a"]);
    expect(allFiles(tmp)).toEqual([]);
  });
});
