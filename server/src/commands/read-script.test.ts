import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { useSharedServer, type AccountClient } from "../../test/support/given.ts";
import { storageSettings, useSeaweedFs } from "../../test/seaweedfs/seaweedfs.ts";
import type { ObjectStore } from "../object-store/object-store.ts";
import { s3Store } from "../object-store/s3/s3-store.ts";

const given = useSharedServer();
const seaweedFs = useSeaweedFs();
const MIB = 1024 * 1024;
let bucket = "";
let store: ObjectStore;

beforeAll(async () => {
  bucket = await seaweedFs.bucket();
  store = s3Store({ ...seaweedFs, endpoint: seaweedFs.endpoint, checkAddress: () => null });
});
afterAll(() => store.close());

const script = (uri: string, extra: Record<string, unknown> = {}) => ({
  command_type: "SparkCommand",
  script_location: uri,
  ...extra,
});

describe("a script on S3", () => {
  test.each(["s3", "s3a", "s3n"])("is read by %s with the account's keys, and its text is stored", async (scheme) => {
    const account = await accountWithKeys();
    await put("dir/job.py", "print('one')");
    const uri = `${scheme}://${bucket}/dir/job.py`;
    const first = await account.post("/commands", script(uri));
    expect(first.command).toMatchObject({ script_location: uri, language: null, program: null });
    await put("dir/job.py", "print('two')");
    const again = await account.post(`/commands/${first.id}/rerun`);
    expect([await textOf(first.id), await textOf(again.id)]).toEqual(["print('one')", "print('one')"]);
  });

  test("is read by the name storage:/ below the account's location", async () => {
    const account = await accountWithKeys();
    await account.put("/api/v2/accounts", { account: { defloc: `s3n://${bucket}/home` } });
    await put("home/job.py", "print('home')");
    const { id } = await account.post("/commands", script("storage:///job.py"));
    expect(await textOf(id)).toBe("print('home')");
  });

  test("that is missing is refused, and nothing is stored", async () => {
    const account = await accountWithKeys();
    await account.post("/commands", script(`s3://${bucket}/none.py`)).refused(422, /^script_location cannot be read/);
    await account.post("/commands", script("s3://no-such-bucket/none.py")).refused(422, /^script_location cannot/);
    expect((await account.get("/commands")).commands).toEqual([]);
  });

  test("is refused with wrong keys and without any", async () => {
    await put("job.py", "1");
    const wrong = await accountWithKeys({ accessKeyId: "AKIAWRONGWRONG", secretAccessKey: "wrong" });
    await wrong.post("/commands", script(`s3://${bucket}/job.py`)).refused(422, /^script_location cannot be read/);
    const none = await given.account();
    await none
      .post("/commands", script(`s3://${bucket}/job.py`))
      .refused(422, /no keys for S3: set storage_access_key/);
  });

  test("is refused with a hint to try again while the storage does not answer", async () => {
    const account = await accountWithKeys(undefined, "http://127.0.0.1:9");
    await account
      .post("/commands", script(`s3://${bucket}/job.py`))
      .refused(503, /^script_location cannot be read now: .* does not answer/);
  });

  test("may have 1 MiB, or 10 MiB with the feature, which does not apply to command lines", async () => {
    await put("exact.py", "x".repeat(MIB));
    await put("large.py", "x".repeat(MIB + 1));
    await put("larger.py", "x".repeat(10 * MIB + 1));
    const account = await accountWithKeys();
    await account.post("/commands", script(`s3://${bucket}/exact.py`));
    await account.post("/commands", script(`s3://${bucket}/large.py`)).refused(422, /needs the feature large_scripts/);
    await setFeature(account, "large_scripts");
    await account.post("/commands", script(`s3://${bucket}/large.py`));
    await account
      .post("/commands", script(`s3://${bucket}/larger.py`))
      .refused(422, /^script_location must have at most/);
    await account
      .post("/commands", script(`s3://${bucket}/large.py`, { language: "command_line" }))
      .refused(422, /^script_location must have at most 1024 KiB/);
  });

  test("that is not text is refused", async () => {
    const account = await accountWithKeys();
    await store.put(`s3://${bucket}/binary.py`, Buffer.from([0xff, 0xfe, 0x00]));
    await account.post("/commands", script(`s3://${bucket}/binary.py`)).refused(422, /^script_location/);
    await put("nul.py", "a\u0000b");
    await account.post("/commands", script(`s3://${bucket}/nul.py`)).refused(422, /^script_location/);
  });

  test("may have macros only with the feature", async () => {
    const account = await accountWithKeys();
    await put("macro.py", "print($n$)");
    const body = script(`s3://${bucket}/macro.py`, { macros: [{ n: "41 + 1" }] });
    await account.post("/commands", body).refused(422, /needs the feature script_macros/);
    await setFeature(account, "script_macros");
    expect(await textOf((await account.post("/commands", body)).id)).toBe("print(42)");
  });
});

describe("the language of a script", () => {
  test.each(["x.scala", "x.R", "x.sql", "x.cmdline", "x.command_line", "x.y.py"])("comes from %s", async (name) => {
    const account = await given.account();
    await account.post("/commands", script(`file://${stored(account, name, "text")}`));
  });

  test.each(["x.r", "x.PY", "x.txt", "x", "py"])("does not come from %s, but can be submitted", async (name) => {
    const account = await given.account();
    const uri = `file://${stored(account, name, "text")}`;
    await account.post("/commands", script(uri)).refused(422, /^language is required/);
    await account.post("/commands", script(uri, { language: "python" }));
  });
});

describe("a script in the account's own folder", () => {
  test("is read, whatever the form of its URI", async () => {
    const account = await given.account();
    const path = stored(account, "deep/job.py", "print(1)");
    expect(await textOf((await account.post("/commands", script(`file:${path}`))).id)).toBe("print(1)");
    const hive = { command_type: "HiveCommand", script_location: `file://${path}` };
    expect((await account.post("/commands", hive)).command).toMatchObject({
      query: null,
      script_location: `file://${path}`,
    });
  });

  test("is read by the name storage:/, which stays in the command", async () => {
    const account = await given.account();
    stored(account, "jobs/own.py", "print(1)");
    const { id, command } = await account.post("/commands", script("storage:/jobs/own.py"));
    expect([command.script_location, await textOf(id)]).toEqual(["storage:/jobs/own.py", "print(1)"]);
    await (
      await given.account()
    )
      .post("/commands", script("storage:/jobs/$&.py"))
      .refused(422, /^script_location cannot be read: storage:\/jobs\/\$&\.py: not found/);
  });

  test("is not read from outside of that folder", async () => {
    const [account, other] = [await given.account(), await given.account()];
    const own = stored(account, "own.py", "1");
    const foreign = stored(other, "foreign.py", "secret");
    symlinkSync(foreign, join(dirname(own), "link.py"));
    const paths = [
      foreign,
      join(dirname(own), "link.py"),
      `${dirname(own)}/../../${other.accountId}/storage/foreign.py`,
      "/etc/passwd",
      join(given.dataDir, "keys"),
    ];
    for (const path of paths) {
      await account
        .post("/commands", script(`file://${path}`, { language: "python" }))
        .refused(422, /^script_location/);
    }
  });
});

describe("other addresses", () => {
  test.each([
    ["hdfs://host/x.py", /hdfs_http_address/],
    ["http://example.test/x.py", /^script_location cannot be read: the URI must begin with/],
    ["job.py", /^script_location/],
    ["s3://b_/", /^language/],
    ["storage://host/x.py", /^script_location cannot be read: the URI must name no host after storage:\/\//],
    ["storage:x.py", /^script_location cannot be read: the URI must have \/ after storage:/],
    ["storage:/a/../x.py", /^script_location cannot be read: the URI must have no empty name and no '\.' or '\.\.'/],
  ])("%s is refused", async (uri, message) => {
    await (await given.account()).post("/commands", script(uri)).refused(422, message);
  });
});

async function accountWithKeys(keys = seaweedFs.credentials, endpoint = seaweedFs.endpoint): Promise<AccountClient> {
  const account = await given.account();
  await account.put("/api/v2/accounts", { account: storageSettings(keys, endpoint) });
  return account;
}

async function put(key: string, text: string): Promise<void> {
  await store.put(`s3://${bucket}/${key}`, Buffer.from(text));
}

/** A file in the account's storage folder. */
function stored(account: AccountClient, name: string, text: string): string {
  const path = join(given.dataDir, "accounts", String(account.accountId), "storage", name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  return path;
}

async function setFeature(account: AccountClient, feature: string): Promise<void> {
  const operator = await given.operator();
  await operator.put(`/api/v2/accounts/${account.accountId}/features`, { features: { [feature]: true } });
}

async function textOf(id: number): Promise<string | undefined> {
  const [row] = await given.app.services.db.system.query<{ resolved: string }>(
    "select resolved from command_source_text where command_id = $1",
    [id],
  );
  return row?.resolved;
}
