import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { useCopies } from "../../../../test/support/copy-run.ts";
import { useMemoryHdfs } from "../../../../test/support/memory-hdfs.ts";
import { temporaryName } from "../../../object-store/file/temporary-name.ts";
import { Journal } from "../journal.ts";

/** Copies between files and HDFS, without S3. */
const hdfs = useMemoryHdfs();
const credentials = { accessKeyId: "a", secretAccessKey: "s" };
const copies = useCopies(() => ({ endpoint: "http://127.0.0.1:1", region: "us-east-1", credentials }));
const account = { hdfs: hdfs.account };
afterEach(() => {
  hdfs.files.clear();
  hdfs.folders.clear();
  hdfs.onRequest = () => undefined;
});

function put(path: string, text: string): string {
  const [folder, file] = [join(copies.files, path, ".."), join(copies.files, path)];
  mkdirSync(folder, { recursive: true });
  writeFileSync(file, text);
  return `file://${folder}`;
}

const allFiles = (): Record<string, string> =>
  Object.fromEntries([...hdfs.files].map(([path, { bytes }]) => [path, bytes.toString()]));

describe("a copy with HDFS", () => {
  test("has the right bytes although the memory of its parts is used again", async () => {
    const large = randomBytes(40 * 1024 * 1024);
    const src = put("reused/large", "");
    writeFileSync(join(copies.files, "reused/large"), large);
    const args = `--src ${src} --dest hdfs:///reused --multipartUploadChunkSize 5`;
    expect((await copies.run(args, { account, bufferMiB: 20 })).end.failure).toBeNull();
    expect(hdfs.files.get("/reused/large")?.bytes.equals(large)).toBe(true);
  });

  test("has only as many large files open as its memory can feed", async () => {
    const src = put("many/1", "");
    for (const name of "123456") writeFileSync(join(copies.files, "many", name), randomBytes(6 * 1024 * 1024));
    const open = new Set<string>();
    let most = 0;
    hdfs.onRequest = (operation, path) => {
      if (operation === "CREATE") most = Math.max(most, open.add(path).size);
      if (operation === "RENAME") open.delete(path);
    };
    const args = `--src ${src} --dest hdfs:///many --multipartUploadChunkSize 5`;
    expect((await copies.run(args, { account, bufferMiB: 20 })).end).toMatchObject({ failure: null, files: 6 });
    expect(most).toBe(2);
  });

  test("reads and writes files, whatever slashes the addresses have", async () => {
    hdfs.put("/in/a", "1");
    hdfs.put("/in/b/c", "22");
    const upwards = await copies.run("--src hdfs:///in//b/.. --dest hdfs:///out", { account });
    expect(upwards.end.failure).toBe("the URI must name a file, not a folder");
    expect((await copies.run("--src hdfs:////in/ --dest hdfs:///out//x", { account })).end.failure).toBeNull();
    expect(allFiles()).toMatchObject({ "/out/x/a": "1", "/out/x/b/c": "22" });
    const again = await copies.run("--src hdfs:///in --dest hdfs:///out//x/", { account });
    expect(again.end.failure).toMatch(/^hdfs:\/\/\/out\/x\/: the destination exists already \(it has a\)/);
  });

  test("of an empty folder copies nothing, and of a missing one fails", async () => {
    hdfs.folders.add("/empty");
    const { end, log } = await copies.run("--src hdfs:///empty/ --dest hdfs:///out", { account });
    expect(end).toMatchObject({ failure: null, files: 0 });
    expect(log).toContain("0 of 0 files matched");
    const missing = await copies.run("--src hdfs:///missing --dest hdfs:///out", { account });
    expect(missing.end.failure).toBe("hdfs:///missing: the source does not exist");
  });

  test("succeeds, and counts its retries, if the first request of each kind meets a broken connection", async () => {
    hdfs.put("/in/a", "1");
    const asked = new Set<string>();
    hdfs.onRequest = (operation) => {
      if (asked.size === asked.add(operation).size) return;
      throw new Error("breaks the connection");
    };
    const { end } = await copies.run("--src hdfs:///in --dest hdfs:///out --deleteOnSuccess", { account });
    expect(asked).toEqual(new Set(["GETFILESTATUS", "LISTSTATUS_BATCH", "OPEN", "CREATE", "RENAME", "DELETE"]));
    expect(end).toMatchObject({ failure: null, files: 1, retries: asked.size });
    expect(allFiles()).toEqual({ "/out/a": "1" });
  });

  test("removes the unfinished files of a killed attempt", async () => {
    hdfs.put("/in/a", "1");
    const options = { account, command: "killed-hdfs" };
    const journal = await Journal.open(copies.request("", options).journalFolder);
    await journal.begin(["a", "gone"]);
    await journal.close();
    // As a killed attempt leaves it: the name follows from the id of the journal.
    const left = `/out/${temporaryName(journal.id, "/out/gone")}`;
    hdfs.put(left, "half");
    expect((await copies.run("--src hdfs:///in --dest hdfs:///out", options)).end.failure).toBeNull();
    expect(Object.keys(allFiles())).toEqual(["/in/a", "/out/a"]);
  });
});

describe("a source that changes while it is copied", () => {
  const message = /: the file has changed while it was copied$/;

  test("fails the copy even if its size stays the same: a file", async () => {
    const names = ["a", "b"];
    const [src] = names.map((name) => put(`changing/${name}`, "old"));
    // Both are listed, and one of them is read, when the first file is created.
    hdfs.onRequest = (operation) => {
      if (operation === "CREATE") for (const name of names) utimesSync(join(copies.files, "changing", name), 1, 1);
    };
    const { end } = await copies.run(`-Dmapreduce.job.maps=1 --src ${src} --dest hdfs:///out`, { account });
    expect(end).toMatchObject({ failure: expect.stringMatching(message), files: 1 });
    expect(Object.values(allFiles())).toEqual(["old"]);
  });

  test("fails the copy even if its size stays the same: a file of HDFS", async () => {
    hdfs.put("/in/a", "old", 1);
    let asked = 0;
    hdfs.onRequest = (operation, path) => {
      if (operation === "GETFILESTATUS" && path === "/in/a" && ++asked === 1) hdfs.put("/in/a", "new", 2);
    };
    const { end } = await copies.run(`--src hdfs:///in --dest file://${copies.files}/changed`, { account });
    expect(end.failure).toMatch(message);
    expect(existsSync(join(copies.files, "changed/a"))).toBe(false);
  });

  test.each([
    ["another file of the same size", "new"],
    ["a shorter file", "n"],
  ])("fails the copy even if %s replaces it just before its bytes are read", async (_, text) => {
    hdfs.put("/in/a", "old", 1);
    hdfs.onRequest = (operation) => (operation === "OPEN" ? hdfs.put("/in/a", text, 2) : undefined);
    const { end } = await copies.run(`--src hdfs:///in --dest file://${copies.files}/replaced`, {
      account,
      limits: { retries: 0 },
    });
    expect(end.failure).toMatch(message);
    expect(existsSync(join(copies.files, "replaced/a"))).toBe(false);
  });

  test("is not confused with one that was changed long before", async () => {
    hdfs.put("/in/a", "same", 7);
    const { end } = await copies.run(`--src hdfs:///in --dest file://${copies.files}/same`, { account });
    expect(end.failure).toBeNull();
    expect(readFileSync(join(copies.files, "same/a"), "utf8")).toBe("same");
  });
});
