import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { errorAnswer, faultyRelay } from "../../../test/seaweedfs/relay.ts";
import { storageSettings, useSeaweedFs } from "../../../test/seaweedfs/seaweedfs.ts";
import { objectsBelow } from "../../../test/support/copy-folders.ts";
import { isExhaustive } from "../../../test/support/exhaustive.ts";
import { useServer, type AccountClient } from "../../../test/support/given.ts";
import { waitForCommandEnd } from "../../../test/support/wait-for-command-end.ts";
import type { S3Store } from "../../object-store/s3/s3-operations.ts";
import { s3Store } from "../../object-store/s3/s3-store.ts";

const s3 = useSeaweedFs();
const given = useServer({ settings: { HEADGATE_ALLOWED_NETWORKS: "127.0.0.0/8" } });
const copy = { command_type: "HadoopCommand", sub_command: "s3distcp" };
let account: AccountClient;
let store: S3Store;
let bucket: string;

beforeAll(async () => {
  store = s3Store({ ...s3, endpoint: s3.endpoint, checkAddress: () => null });
  bucket = await s3.bucket();
  account = await accountAt(s3.endpoint);
});
afterAll(() => store.close());

async function accountAt(endpoint: string): Promise<AccountClient> {
  const made = await given.account();
  await made.put("/api/v2/accounts", { account: storageSettings(s3.credentials, endpoint) });
  return made;
}

async function run(body: object, as = account): Promise<{ id: number; status: string }> {
  const { id } = await as.post("/commands", { ...copy, ...body });
  return waitForCommandEnd(as, id);
}

async function logOf(id: number, as = account): Promise<string> {
  return (await as.get(`/commands/${id}/logs`).reply()).text;
}

/** The URIs of a new folder with two objects, and of a folder that does not exist. */
async function folders(): Promise<{ src: string; dest: string }> {
  count += 1;
  const [src, dest] = [`s3://${bucket}/in-${count}`, `s3://${bucket}/out-${count}`];
  for (const [name, text] of Object.entries(contents)) await store.write(`${src}/${name}`, Buffer.from(text));
  return { src, dest };
}
let count = 0;
const contents = { a: "one", "b/c": "two!" };

/** Concurrently, because these tests mostly wait for processes. */
describe.concurrent("an S3DistCp command", () => {
  test("copies in a process of its own; the result lists every file, and the only job has the files as tasks", async () => {
    const owner = await accountAt(s3.endpoint);
    const { src, dest } = await folders();
    expect(await owner.get("/account")).toMatchObject({ storage_validated: false });
    const ended = await run({ sub_command_args: `--src ${src} --dest ${dest}` }, owner);
    expect(ended).toMatchObject({ status: "done", progress: 100 });
    expect(await objectsBelow(store, dest)).toEqual(contents);
    expect(await owner.get("/account")).toMatchObject({ storage_validated: true });
    const results = async (query: string): Promise<string> =>
      (await owner.get(`/commands/${ended.id}/results${query}`).reply()).text;
    expect(JSON.parse(await results("?format=json"))).toEqual([
      { source: `${src}/a`, destination: `${dest}/a`, bytes: 3 },
      { source: `${src}/b/c`, destination: `${dest}/b/c`, bytes: 4 },
    ]);
    expect(await results("?format=csv&include_headers=true")).toContain(`${src}/a,${dest}/a,3`);
    expect(JSON.parse(await results("?include_headers=true")).results).toBe(
      `source\tdestination\tbytes\r\n${src}/a\t${dest}/a\t3\r\n${src}/b/c\t${dest}/b/c\t4\r\n`,
    );
    expect(await owner.get(`/commands/${ended.id}/jobs`)).toMatchObject([
      { job_stats: { status: "succeeded", num_tasks: 2, num_completed_tasks: 2 } },
    ]);
    expect(await logOf(ended.id, owner)).toMatch(
      / 2 of 2 files matched\n.* 2 of 2 files, 7 B, .* 0 repeated requests\n/,
    );
  });

  test("has the same arguments when they are quoted as a whole", async () => {
    const { src, dest } = await folders();
    const ended = await run({ sub_command_args: `'--src "${src}" --dest=${dest} --srcPattern .*/a'` });
    expect(ended).toMatchObject({ status: "done" });
    expect(await objectsBelow(store, dest)).toEqual({ a: "one" });
  });

  test("takes its options from fields and macros as well", async () => {
    const { src, dest } = await folders();
    const body = {
      sub_command_args: "--src $from$ --srcPattern '.*/$name$'",
      dest,
      numberFiles: true,
      startingIndex: 7,
    };
    const ended = await run({ ...body, macros: [{ from: `'${src}'` }, { name: "'b/c'" }] });
    expect(ended).toMatchObject({ status: "done" });
    expect(await objectsBelow(store, dest)).toEqual({ "b/7c": "two!" });
  });

  test("copies files of the account's own folder, and of no other account", async () => {
    const [mine, theirs] = [account.accountId, (await given.account()).accountId].map((id) =>
      join(given.dataDir, "accounts", String(id), "storage"),
    );
    for (const folder of [mine, theirs]) {
      mkdirSync(join(folder ?? "", "in"), { recursive: true });
      writeFileSync(join(folder ?? "", "in/x"), "1");
    }
    const { src, dest } = await folders();
    const down = await run({ src, dest: `file://${mine}/out` });
    expect(down).toMatchObject({ status: "done" });
    expect(readFileSync(join(mine ?? "", "out/b/c"), "utf8")).toBe("two!");
    const foreign = [`file://${theirs}/in`, `file://${mine}/../../${theirs?.split("/").at(-2)}/storage/in`];
    for (const refused of await Promise.all(foreign.map((each) => run({ src: each, dest })))) {
      expect(refused).toMatchObject({ status: "error" });
      expect(await logOf(refused.id)).toMatch(/must lie below|not the name of a folder/);
    }
    expect(await objectsBelow(store, dest)).toEqual({});
  });

  test("names folders and manifests of the account's storage by storage:/, and shows what was submitted", async () => {
    const owner = await accountAt(s3.endpoint);
    const local = join(given.dataDir, "accounts", String(owner.accountId), "storage");
    mkdirSync(local, { recursive: true });
    const { src, dest } = await folders();
    const down = await run({ src, dest: "storage:/in" }, owner);
    expect(down, await logOf(down.id, owner)).toMatchObject({ status: "done", command: {} });
    expect(readFileSync(join(local, "in/b/c"), "utf8")).toBe("two!");

    await owner.put("/api/v2/accounts", { account: { defloc: dest } });
    await store.write(`${dest}/prefixes`, Buffer.from(`${src}/b\n`));
    const words = "--srcPrefixesFile storage:/prefixes --outputManifest m.gz --dest storage:///first";
    const up = await run({ sub_command_args: words }, owner);
    expect(up, await logOf(up.id, owner)).toMatchObject({ status: "done" });
    const again = await run(
      { sub_command_args: "--copyFromManifest --previousManifest storage:/first/m.gz --dest storage:/second" },
      owner,
    );
    expect(again, await logOf(again.id, owner)).toMatchObject({ status: "done" });
    const found = Object.keys(await objectsBelow(store, dest));
    expect(found).toEqual(expect.arrayContaining(["first/c", "first/m.gz", "second/c"]));
    const { command } = await owner.get(`/commands/${again.id}`);
    expect(command.sub_command_args).toContain("--dest storage:/second");
  });

  test("continues in its next attempt where the previous one ended", async () => {
    const { src, dest } = await folders();
    const puts: string[] = [];
    const relay = await faultyRelay(s3.endpoint, ({ method, url }) => {
      if (method !== "PUT") return undefined;
      puts.push(url);
      const isFirst = puts.filter((each) => each === url).length === 1;
      return url.endsWith("/b/c") && isFirst ? errorAnswer(403, "AccessDenied") : undefined;
    });
    const owner = await accountAt(relay.endpoint);
    const args = `-Dmapreduce.job.maps=1 --src ${src} --dest ${dest}`;
    const ended = await run({ sub_command_args: args, retry: 1, retry_delay: 0 }, owner);
    await relay.close();
    expect(ended).toMatchObject({ status: "done" });
    expect(await objectsBelow(store, dest)).toEqual(contents);
    expect(puts.map((url) => url.slice(url.indexOf("/", 1)))).toEqual(
      ["a", "b/c", "b/c"].map((name) => `/${dest.split("/").at(-1)}/${name}`),
    );
    const { text } = await owner.get(`/commands/${ended.id}/results?format=json`).reply();
    expect(JSON.parse(text)).toHaveLength(2);
  });

  // The engine's own tests have the other reasons.
  test.each([
    ["--src s3://BUCKET/missing --dest s3://BUCKET/other", "s3://BUCKET/missing: the source does not exist"],
    ["--src s3://BUCKET/missing --dest s3://BUCKET/x --frobnicate", "Argument --frobnicate doesn't match."],
    ["--src s3://BUCKET/missing --dest hdfs:///x", "the account has no HDFS: set hdfs_http_address of the account"],
    [
      "--src s3://BUCKET/missing --dest s3://BUCKET/x --s3Endpoint http://10.1.2.3:9000",
      "must not be in a loopback, private",
    ],
    ...(isExhaustive ? [["--src /home/x --dest s3://BUCKET/x", "a path without a scheme means HDFS"]] : []),
  ] as [string, string][])("fails with the reason in its log: %s", async (args, reason) => {
    const ended = await run({ sub_command_args: args.replaceAll("BUCKET", bucket) });
    expect(ended).toMatchObject({ status: "error" });
    expect(await logOf(ended.id)).toContain(reason.replaceAll("BUCKET", bucket));
  });

  test("is refused without a token or a permission and with fields of wrong types, and then copies nothing", async () => {
    const { src, dest } = await folders();
    const body = { ...copy, src, dest };
    await given.anonymous().post("/commands", body).refused(401);
    await (await given.member(account)).post("/commands", body).refused(403);
    for (const [field, value] of [
      ["targetSize", "big"],
      ["deleteOnSuccess", "perhaps"],
      ["src", { a: 1 }],
    ] as const) {
      await account.post("/commands", { ...body, [field]: value }).refused(422, new RegExp(`^${field} must be`));
    }
    expect(await objectsBelow(store, dest)).toEqual({});
  });
});
