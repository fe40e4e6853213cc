import { once } from "node:events";
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { storageSettings, useSeaweedFs } from "../../../test/seaweedfs/seaweedfs.ts";
import { useServer, type AccountClient } from "../../../test/support/given.ts";
import type { ObjectStore } from "../../object-store/object-store.ts";
import { s3Store } from "../../object-store/s3/s3-store.ts";

const given = useServer();
const SENSOR = "/sensors/file_sensor";

describe("a list of files", () => {
  let account: AccountClient;
  beforeAll(async () => {
    account = await given.account();
  });

  test.each([
    [{}],
    [{ files: null }],
    [{ files: [] }],
    [{ files: "s3://bucket/f" }],
    [{ files: { "0": "s3://bucket/f" } }],
    [{ files: 7 }],
  ])("%j is refused with the specified message", async (body) => {
    for (const path of [SENSOR, "/file_sensor"]) {
      const { status, body: answer } = await account.post(path, body).reply();
      const error = { error_code: 422, error_message: "File list is missing or not in array format" };
      expect([status, answer]).toEqual([422, { error }]);
    }
  });

  test.each([
    [["s3://bucket/f", 7], /^files\[1\] must be a string/],
    [["s3://bucket/f", null], /^files\[1\] must be a string/],
    [["f"], /^files\[0\] cannot be checked: the URI must begin with/],
    [["https://example.test/f"], /^files\[0\] cannot be checked: the URI must begin with/],
    [["s3://"], /^files\[0\] cannot be checked: the URI must name a bucket/],
    [["s3://bucket/\u0000"], /^files\[0\] cannot be checked/],
    [[`s3://bucket/${"x".repeat(9000)}`], /^files\[0\] must have at most 8192 characters/],
    [Array.from({ length: 1001 }, () => "s3://bucket/f"), /^files must have at most 1000 entries/],
    [["s3://bucket/f"], /^files\[0\] cannot be checked: the account has no keys for S3: set storage_access_key/],
    [["hdfs://host/f"], /^files\[0\] cannot be checked on HDFS: set the account's hdfs_http_address/],
    [["file:/etc/passwd"], /^files\[0\] cannot be checked: the URI must lie below file:\/\/\/.*\/storage$/],
    [["file:///"], /^files\[0\] cannot be checked/],
    [["storage:/a", "storage://f"], /^files\[1\] cannot be checked: the URI must name no host after storage:\/\//],
    [
      ["storage:/../2/storage/f"],
      /^files\[0\] cannot be checked: the URI must have no empty name and no '\.' or '\.\.'/,
    ],
  ])("%j is refused", async (files, message) => {
    await account.post(SENSOR, { files }).refused(422, message);
    // Waiting cannot help.
    await account.post(SENSOR, { files, wait_seconds: 300 }).refused(422, message);
  });

  test("is refused for members without the permission to create sensors", async () => {
    await (await given.member(account)).post(SENSOR, { files: [] }).refused(403);
    await (await given.member(account, { groups: ["system-user"] })).post(SENSOR, { files: [] }).refused(422);
  });
});

describe("files in the account's own folder", () => {
  test("are reported only if all of them exist", async () => {
    const account = await given.account();
    const [one, two] = [stored(account, "in/one"), stored(account, "in/two%20")];
    expect(await account.post(SENSOR, { files: [`file:${one}`, `file://${two}`] })).toEqual({ status: "true" });
    expect(await account.post(SENSOR, { files: [`file:${one}`, `file:${one}x`] })).toEqual({ status: "false" });
  });

  test("are found by the name storage:/, each in the storage of its own account", async () => {
    const [account, other] = [await given.account(), await given.account()];
    stored(account, "in/one%20");
    const files = ["storage:/in/one%20", "storage:///in/one%20", "storage:/in", "storage:/"];
    expect(await account.post(SENSOR, { files })).toEqual({ status: "true" });
    expect(await account.post(SENSOR, { files: ["storage:/in/one "] })).toEqual({ status: "false" });
    for (const file of files) expect(await other.post(SENSOR, { files: [file] })).toEqual({ status: "false" });
  });

  test("a folder exists if something is in it", async () => {
    const account = await given.account();
    const file = stored(account, "deep/er/file");
    const folder = dirname(dirname(file));
    expect(await account.post(SENSOR, { files: [`file:${folder}`, `file:${folder}/`] })).toEqual({ status: "true" });
    mkdirSync(`${folder}-empty`);
    expect(await account.post(SENSOR, { files: [`file:${folder}-empty`] })).toEqual({ status: "false" });
    expect(await account.post(SENSOR, { files: [`file:${folder}-none/`] })).toEqual({ status: "false" });
    expect(await account.post(SENSOR, { files: [`file:${dirname(folder)}`] })).toEqual({ status: "true" });
  });

  test("are missing while the account's folder does not exist", async () => {
    const account = await given.account();
    const path = storagePath(account, "f");
    expect(await account.post(SENSOR, { files: [`file:${path}`] })).toEqual({ status: "false" });
  });

  test("the files of another account are not revealed", async () => {
    const [account, other] = [await given.account(), await given.account()];
    const [own, foreign] = [stored(account, "own"), stored(other, "foreign")];
    symlinkSync(dirname(foreign), join(dirname(own), "link"));
    const around = `${dirname(own)}/../../${other.accountId}/storage`;
    for (const folder of [dirname(foreign), join(dirname(own), "link"), around]) {
      const [existing, missing] = [
        await account.post(SENSOR, { files: [`file:${folder}/foreign`] }).reply(),
        await account.post(SENSOR, { files: [`file:${folder}/nothing`] }).reply(),
      ];
      expect([existing.status, existing.text.replaceAll("foreign", "nothing")], folder).toEqual([
        missing.status,
        missing.text,
      ]);
    }
  });

  test("a waiting request is answered when the last file appears", async () => {
    const account = await given.account();
    const [one, two] = [storagePath(account, "one"), storagePath(account, "two")];
    const waiting = account.post(SENSOR, { files: [`file:${one}`, `file:${two}`], wait_seconds: 60 }).reply();
    const short = account.post(SENSOR, { files: [`file:${one}`, `file:${two}`], wait_seconds: 1 }).reply();
    stored(account, "two");
    expect((await short).text).toBe('{"status":"false"}');
    stored(account, "one");
    expect((await waiting).text).toBe('{"status":"true"}');
    rmSync(one);
    expect(await account.post(SENSOR, { files: [`file:${one}`] })).toEqual({ status: "false" });
  });
});

describe("when the server stops", () => {
  const stopped = useServer();

  test("waiting requests are answered with false at once", async () => {
    const account = await stopped.account();
    const files = [`file:${join(stopped.dataDir, "accounts", String(account.accountId), "storage", "none")}`];
    const waiting = account.post(SENSOR, { files, wait_seconds: 300 }).reply();
    expect(await account.post(SENSOR, { files, wait_seconds: 1 })).toEqual({ status: "false" });
    await stopped.app.stop();
    expect((await waiting).text).toBe('{"status":"false"}');
  });
});

describe("files on S3", () => {
  const seaweedFs = useSeaweedFs();
  let bucket = "";
  let store: ObjectStore;
  beforeAll(async () => {
    bucket = await seaweedFs.bucket();
    store = s3Store({ ...seaweedFs, endpoint: seaweedFs.endpoint, checkAddress: () => null });
    for (const key of ["out/_SUCCESS", "out/part-0", "a b+c/ü%20?#"]) await put(key);
  });
  afterAll(() => store?.close());

  const put = (key: string) => store.put(`s3://${bucket}/${key}`, Buffer.from("x"));
  const withKeys = async (keys = seaweedFs.credentials, endpoint = seaweedFs.endpoint): Promise<AccountClient> => {
    const account = await given.account();
    await account.put("/api/v2/accounts", { account: storageSettings(keys, endpoint) });
    return account;
  };

  test("and their folders are found by any S3 scheme", async () => {
    const account = await withKeys();
    const ask = (...keys: string[]) => account.post(SENSOR, { files: keys.map((key) => `s3a://${bucket}/${key}`) });
    expect(await ask("out/_SUCCESS", "a b+c/ü%20?#", "out", "out/", "")).toEqual({ status: "true" });
    expect(await ask("out/_SUCCES")).toEqual({ status: "false" });
    expect(await ask("ou")).toEqual({ status: "false" });
    expect(await ask("out/_SUCCESS/")).toEqual({ status: "false" });
    expect(await account.post(SENSOR, { files: ["s3n://no-such-bucket-here/x"] })).toEqual({ status: "false" });
    const many = Array.from({ length: 200 }, () => "out/part-0");
    expect(await ask(...many)).toEqual({ status: "true" });
    expect(await ask(...many, "out/part-1")).toEqual({ status: "false" });
  });

  test("are found by the name storage:/ below the account's location, whichever that is now", async () => {
    const account = await withKeys();
    const ask = (...files: string[]) => account.post(SENSOR, { files });
    expect(await ask("storage:/_SUCCESS")).toEqual({ status: "false" });
    await account.put("/api/v2/accounts", { account: { defloc: `s3a://${bucket}/out/` } });
    expect(await ask("storage:/_SUCCESS", "storage:/")).toEqual({ status: "true" });
    await ask(`storage:/${"x".repeat(1100)}`).refused(
      422,
      /^files\[0\] .*: the URI must have a key of at most 1024 bytes/,
    );
  });

  test("a waiting request is answered when they appear", async () => {
    const account = await withKeys();
    const files = ["out/part-0", "late/one"].map((key) => `s3://${bucket}/${key}`);
    const waiting = account.post(SENSOR, { files, wait_seconds: 60 }).reply();
    await put("late/one");
    expect((await waiting).text).toBe('{"status":"true"}');
  });

  test("are refused with 422 for wrong keys and with 503 for a store that cannot be reached", async () => {
    const files = [`s3://${bucket}/out/_SUCCESS`];
    const wrong = await withKeys({ accessKeyId: "AKIAWRONGWRONG", secretAccessKey: "wrong" });
    await wrong.post(SENSOR, { files }).refused(422, /^files\[0\] cannot be checked/);
    const unreachable = await withKeys(undefined, "http://127.0.0.1:9");
    await unreachable
      .post(SENSOR, { files })
      .refused(503, /^files\[0\] cannot be checked now: .* does not answer \(ECONNREFUSED\)/);
    await unreachable.post(SENSOR, { files, wait_seconds: 1 }).refused(503, /^files\[0\] cannot be checked now/);
  });
});

describe("files on HDFS", () => {
  /** Imitates WebHDFS: /data contains one file, /empty none. */
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "", "http://here");
    const path = pathname.replace("/webhdfs/v1", "");
    const status = (pathSuffix: string, type: string) => ({ pathSuffix, type, length: 1, modificationTime: 1 });
    const isFolder = path === "/data" || path === "/empty";
    if (path === "/page") {
      response.end("<html>");
    } else if (path === "/denied") {
      const RemoteException = { exception: "AccessControlException", message: "no" };
      response.writeHead(403).end(JSON.stringify({ RemoteException }));
    } else if (searchParams.get("op") === "GETFILESTATUS" && (isFolder || path === "/data/part")) {
      response.end(JSON.stringify({ FileStatus: status("", isFolder ? "DIRECTORY" : "FILE") }));
    } else if (searchParams.get("op") === "LISTSTATUS_BATCH" && isFolder) {
      const FileStatuses = { FileStatus: path === "/data" ? [status("part", "FILE")] : [] };
      response.end(JSON.stringify({ DirectoryListing: { partialListing: { FileStatuses }, remainingEntries: 0 } }));
    } else {
      const RemoteException = { exception: "FileNotFoundException", message: "no" };
      response.writeHead(404).end(JSON.stringify({ RemoteException }));
    }
  });
  let address = "";
  beforeAll(async () => {
    await once(server.listen(0, "127.0.0.1"), "listening");
    const { port } = server.address() as AddressInfo; // a TCP server that listens has one
    address = `http://127.0.0.1:${port}`;
  });
  afterAll(() => server.close());

  test("are checked at the account's hdfs_http_address", async () => {
    const account = await given.account();
    await account.put("/api/v2/accounts", { account: { hdfs_http_address: address } });
    const ask = (...paths: string[]) => account.post(SENSOR, { files: paths.map((path) => `hdfs://nn:8020${path}`) });
    expect(await ask("/data/part", "/data", "/data/")).toEqual({ status: "true" });
    expect(await ask("/data/part", "/data/other")).toEqual({ status: "false" });
    expect(await ask("/empty")).toEqual({ status: "false" });
    expect(await ask("/none/")).toEqual({ status: "false" });
    await ask("/data/part", "/denied").refused(422, /^files\[1\] cannot be checked/);
    await ask("/page").refused(503, /^files\[0\] .* now: hdfs:\/\/nn:8020\/page: .* answer cannot be read\. Try again/);
  });
});

function storagePath(account: AccountClient, name: string): string {
  return join(given.dataDir, "accounts", String(account.accountId), "storage", name);
}

function stored(account: AccountClient, name: string): string {
  const path = storagePath(account, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, "x");
  return path;
}
