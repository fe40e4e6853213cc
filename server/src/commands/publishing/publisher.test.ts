import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { dirname, join } from "node:path";
import { buffer } from "node:stream/consumers";
import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { relayTo, type Relay } from "../../../test/seaweedfs/relay.ts";
import { useSeaweedFs, type S3Keys } from "../../../test/seaweedfs/seaweedfs.ts";
import { useServer, type AccountClient } from "../../../test/support/given.ts";
import { stubDriver } from "../../../test/support/stub-driver.ts";
import { NO_S3_KEYS } from "../../object-store/object-store-error.ts";
import { getText, type ObjectStore } from "../../object-store/object-store.ts";
import { s3Store } from "../../object-store/s3/s3-store.ts";
import { DAY_MS } from "../../lib/clock.ts";
import { commandFiles } from "../execution/command-files.ts";
import { filePruner } from "../prune-files.ts";

const given = useServer({ driver: stubDriver });
const seaweedFs = useSeaweedFs();
const PATIENCE = { timeout: 45_000 };
let bucket = "";
let store: ObjectStore;
let relay: Relay;

beforeAll(async () => {
  bucket = await seaweedFs.bucket();
  store = s3Store({ ...seaweedFs, endpoint: seaweedFs.endpoint, checkAddress: () => null });
  relay = await relayTo(seaweedFs.endpoint);
});
afterAll(async () => {
  await store.close();
  await relay.goAway();
});

async function run(account: AccountClient, program: string, more: Record<string, unknown> = {}) {
  const { id } = await account.post("/commands", {
    command_type: "SparkCommand",
    language: "python",
    program,
    ...more,
  });
  const command = await account.get(`/commands/${id}?wait_seconds=60`);
  expect(command.status).toMatch(/^(done|error)$/);
  return command;
}

/** Below the local folder. */
const localPath = (account: AccountClient, path: string): string =>
  join(given.dataDir, "accounts", String(account.accountId), "storage", path);

async function leftToDo(account: AccountClient): Promise<unknown[]> {
  return given.app.services.db.system.query("select command_id from command_publishing where account_id = $1", [
    account.accountId,
  ]);
}

async function allDone(account: AccountClient): Promise<void> {
  await expect.poll(() => leftToDo(account), PATIENCE).toEqual([]);
}

async function accountOnS3(keys: S3Keys = seaweedFs.credentials, endpoint = seaweedFs.endpoint) {
  const account = await given.account();
  await setStorage(account, keys, endpoint);
  return account;
}

async function setStorage(account: AccountClient, keys: S3Keys, endpoint: string): Promise<void> {
  await account.put("/api/v2/accounts", {
    account: {
      defloc: `s3://${bucket}/deep/`,
      storage_access_key: keys.accessKeyId,
      storage_secret_key: keys.secretAccessKey,
      storage_endpoint: endpoint,
    },
  });
}

const object = (path: string): Promise<string> => getText(store, `s3://${bucket}/deep${path}`, 1000);

describe("results and logs of an account without storage of its own", () => {
  test("are in its local folder under the command's path: the result, and the log of each attempt", async () => {
    const account = await given.account();
    const program = 'echo "out $ATTEMPT"; echo "err $ATTEMPT" >&2; [ "$ATTEMPT" = 2 ]';
    const { path } = await run(account, program, { retry: 1, retry_delay: 0 });
    await allDone(account);
    const text = (name: string): string => readFileSync(localPath(account, `${path}/${name}`), "utf8");
    expect(text("results")).toBe("out 2\n");
    expect(text("logs")).toMatch(/^err 1\nheadgate: exit code 1/);
    expect(text("logs.2")).toBe("err 2\n");
    const { uid } = statSync(localPath(account, ""));
    expect(statSync(localPath(account, `${path}/results`)).uid).toBe(uid);
  });

  test("are only the log if the command failed, and nothing if it wrote nothing", async () => {
    const account = await given.account();
    const failed = await run(account, "echo out; exit 3");
    const silent = await run(account, "true");
    const unsupported = await run(account, "1", { language: "scala" });
    await allDone(account);
    expect(readFileSync(localPath(account, `${failed.path}/logs`), "utf8")).toBe("headgate: exit code 3\n");
    expect(existsSync(localPath(account, `${failed.path}/results`))).toBe(false);
    expect(existsSync(localPath(account, silent.path))).toBe(false);
    expect(existsSync(localPath(account, `${unsupported.path}/logs`))).toBe(true);
  });

  test("are copies: programs that change them do not change what the API returns", async () => {
    const account = await given.account();
    const { id, path } = await run(account, "echo mine; echo said >&2");
    await allDone(account);
    const copies = localPath(account, path);
    await run(account, `echo theirs | tee ${copies}/results > ${copies}/logs`);
    expect(readFileSync(localPath(account, `${path}/results`), "utf8")).toBe("theirs\n");
    expect((await account.get(`/commands/${id}/results`)).results).toBe("mine\n");
    expect((await account.get(`/commands/${id}/logs`).reply()).text).toBe("said\n");
  });

  test("are removed with the command's own files, and so are their empty folders", async () => {
    const account = await given.account();
    const { id, path } = await run(account, "echo x; echo y >&2");
    const { path: linked } = await run(account, "echo x");
    await allDone(account);
    rmSync(localPath(account, linked), { recursive: true });
    mkdirSync(join(given.dataDir, "elsewhere"));
    writeFileSync(join(given.dataDir, "elsewhere/results"), "not ours");
    symlinkSync(join(given.dataDir, "elsewhere"), localPath(account, linked));
    const { db } = given.app.services;
    const days = { resultsDays: 10, logsDays: 20, sizeBytes: 1e9 };
    const keepAfter = (now: number) =>
      filePruner(
        {
          db,
          clock: { now: () => new Date(Date.now() + now) },
          dataDir: given.dataDir,
          log: pino({ level: "silent" }),
        },
        days,
      )();
    await keepAfter(11 * DAY_MS);
    expect(existsSync(localPath(account, `${path}/results`))).toBe(false);
    expect(existsSync(localPath(account, `${path}/logs`))).toBe(true);
    await keepAfter(21 * DAY_MS);
    expect(existsSync(localPath(account, path))).toBe(false);
    expect(existsSync(commandFiles(given.dataDir, account.accountId, id).folder)).toBe(false);
    expect(readFileSync(join(given.dataDir, "elsewhere/results"), "utf8")).toBe("not ours");
    rmSync(localPath(account, linked));
    expect(existsSync(dirname(localPath(account, linked)))).toBe(true);
  });

  test("that cannot be written because of other files have a publish_error, and others are still published", async () => {
    const account = await given.account();
    const storage = localPath(account, "");
    const program = `mkdir -p "${storage}/tmp/$(date -u +%F)/${account.accountId}/$COMMAND/results/x"; echo out`;
    const { id } = await run(account, program);
    await expect
      .poll(() => account.get(`/commands/${id}`), PATIENCE)
      .toMatchObject({ publish_error: expect.stringMatching(/^cannot be put into the account's storage: .*a folder/) });
    expect((await account.get(`/commands/${id}/results`)).results).toBe("out\n");
    const { path } = await run(account, "echo next");
    await expect.poll(() => existsSync(localPath(account, `${path}/results`)), PATIENCE).toBe(true);
  });
});

describe("results and logs of an account with storage on S3", () => {
  test("are on S3, and stay there after the local files are pruned", async () => {
    const account = await accountOnS3();
    const { id, path, publish_error: error } = await run(account, "echo out; echo err >&2");
    expect(error).toBeUndefined();
    await allDone(account);
    expect([await object(`${path}/results`), await object(`${path}/logs`)]).toEqual(["out\n", "err\n"]);
    const { db } = given.app.services;
    const later = new Date(Date.now() + 1e10);
    const days = { resultsDays: 1, logsDays: 1, sizeBytes: 1e9 };
    await filePruner(
      { db, clock: { now: () => later }, dataDir: given.dataDir, log: pino({ level: "silent" }) },
      days,
    )();
    expect(existsSync(commandFiles(given.dataDir, account.accountId, id).folder)).toBe(false);
    expect(await object(`${path}/results`)).toBe("out\n");
  });

  test("of 20 MiB and more are named by result_location", async () => {
    const account = await accountOnS3();
    const lines = 20_972; // of 1001 bytes
    const { id, path } = await run(account, `seq -f '%01000.0f' ${lines}`);
    const uri = `s3://${bucket}/deep${path}/results`;
    expect(await account.get(`/commands/${id}/results`)).toEqual({ inline: false, result_location: [uri] });
    const printed = Array.from({ length: lines }, (_, index) => `${String(index + 1).padStart(1000, "0")}\n`).join("");
    expect((await buffer((await store.get(uri)).body)).equals(Buffer.from(printed))).toBe(true);
  });

  test("are published later if the storage was unreachable; the command is done meanwhile", async () => {
    const account = await accountOnS3(seaweedFs.credentials, relay.endpoint);
    const other = await given.account();
    await relay.goAway();
    const ended = await run(account, "echo out");
    expect(ended.status).toBe("done");
    expect((await account.get(`/commands/${ended.id}/results`)).results).toBe("out\n");
    await expect
      .poll(() => account.get(`/commands/${ended.id}`), PATIENCE)
      .toMatchObject({
        status: "done",
        publish_error: expect.stringMatching(/^cannot be put into the account's storage/),
      });
    const large = await run(account, "head -c 20971520 /dev/zero");
    await account.get(`/commands/${large.id}/results`).refused(503, /being uploaded to the account's storage/);
    await run(other, "echo beside");
    await allDone(other);
    await relay.comeBack();
    await allDone(account);
    expect(await object(`${ended.path}/results`)).toBe("out\n");
    expect(await account.get(`/commands/${ended.id}`)).not.toHaveProperty("publish_error");
    expect((await store.stat(`s3://${bucket}/deep${large.path}/results`)).size).toBe(20_971_520);
  });

  test("wait for a storage that never answers, without delaying other accounts", async () => {
    const sockets = new Set<Socket>();
    const silent = createServer((socket) => void sockets.add(socket.on("error", () => undefined)));
    await once(silent.listen(0, "127.0.0.1"), "listening");
    const { port } = silent.address() as AddressInfo; // a TCP server that listens has one
    const stuck = await accountOnS3(seaweedFs.credentials, `http://127.0.0.1:${port}`);
    // One more than an account may upload at a time.
    const large = await Promise.all(Array.from({ length: 3 }, () => run(stuck, "head -c 20971520 /dev/zero")));
    const asked = large.map(({ id }) => stuck.get(`/commands/${id}/results`).refused(503, /being uploaded/));
    await vi.waitUntil(() => sockets.size >= 2, PATIENCE);
    const other = await accountOnS3();
    const { path } = await run(other, "echo beside");
    await allDone(other);
    expect(await object(`${path}/results`)).toBe("beside\n");
    silent.close();
    for (const socket of sockets) socket.destroy();
    await Promise.all(asked);
  });

  test("do not wait for the storages of several other accounts that answer with a byte now and then", async () => {
    const sockets = new Set<Socket>();
    const dripping = createServer((socket) => {
      sockets.add(socket.on("error", () => undefined).on("data", () => undefined));
      socket.write("HTTP/1.1 200 OK\r\n");
      const timer = setInterval(() => socket.write("x-more: 1\r\n"), 500);
      socket.on("close", () => clearInterval(timer));
    });
    await once(dripping.listen(0, "127.0.0.1"), "listening");
    const { port } = dripping.address() as AddressInfo; // a TCP server that listens has one
    const slow = Array.from({ length: 5 }, async () => {
      await run(await accountOnS3(seaweedFs.credentials, `http://127.0.0.1:${port}`), "echo out");
    });
    await Promise.all(slow);
    await vi.waitUntil(() => sockets.size >= 4, PATIENCE);
    const other = await accountOnS3();
    const { path } = await run(other, "echo beside");
    await allDone(other);
    expect(await object(`${path}/results`)).toBe("beside\n");
    dripping.close();
    for (const socket of sockets) socket.destroy();
  });

  test("have a publish_error while the keys are wrong, and are published with the right ones", async () => {
    const account = await accountOnS3({ accessKeyId: "AKIAWRONGWRONG", secretAccessKey: "wrong" });
    const { id, path } = await run(account, "echo out");
    await expect
      .poll(() => account.get(`/commands/${id}`), PATIENCE)
      .toMatchObject({ publish_error: expect.stringMatching(/denied/) });
    const large = await run(account, "head -c 20971520 /dev/zero");
    await account.get(`/commands/${large.id}/results`).refused(422, /cannot be put into the account's storage.*denied/);
    await setStorage(account, seaweedFs.credentials, seaweedFs.endpoint);
    await allDone(account);
    expect(await object(`${path}/results`)).toBe("out\n");
    expect(await account.get(`/commands/${id}`)).not.toHaveProperty("publish_error");
  });

  test("have a publish_error if the account has no keys", async () => {
    const account = await given.account();
    await account.put("/api/v2/accounts", { account: { defloc: `s3://${bucket}/deep` } });
    const { id } = await run(account, "echo out");
    await expect
      .poll(() => account.get(`/commands/${id}`), PATIENCE)
      .toMatchObject({
        publish_error: `cannot be put into the account's storage: ${NO_S3_KEYS}`,
      });
  });
});
