import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test, vi } from "vitest";
import { listProcesses } from "../src/lib/process-table.ts";
import { because } from "./skip-reasons/skip-reasons.ts";
import { adminCli, urlOf } from "./support/admin-cli.ts";
import { freePort, isFree } from "./support/free-port.ts";
import { startHeadgate, operatorClient, type HeadgateProcess } from "./support/headgate-process.ts";
import { submitProgram } from "./support/programs.ts";
import { install, stubEntry, type Installation } from "./support/stub-installation.ts";
import { cloneDatabase, type TestDatabase } from "./support/test-database.ts";

/** While any program of a tenant lives, the port of the API is ours in both families, whatever happens to the server. */
const PATIENCE = { timeout: 45_000 };
const SLOW = { timeout: 180_000 };
const thief = readFileSync(new URL("support/port-thief.py", import.meta.url), "utf8");
const python = ["/usr/bin/python3", "/usr/local/bin/python3"].find((path) => existsSync(path));

const AWAY = {
  status: 503,
  retryAfter: "5",
  connection: "close",
  body: {
    error: { error_code: 503, error_message: expect.stringContaining("Headgate is starting or has been stopped") },
  },
};

let port: number;
let database: TestDatabase;
let installation: Installation;
let headgate: HeadgateProcess;

async function begin(): Promise<void> {
  port = await freePort();
  database = await cloneDatabase();
  installation = await install({}, { DATABASE_URL: urlOf(database), HEADGATE_PORT: String(port) });
  ({ headgate } = installation);
}

afterEach(async () => {
  await adminCli(installation.settings).run("stop", "--all");
  await vi.waitFor(async () => expect(await holders()).toEqual([]), PATIENCE);
  await database.drop();
  installation.remove();
});

async function again(settings: Record<string, string> = {}): Promise<void> {
  headgate = await startHeadgate(installation.dataDir, { ...installation.settings, ...settings }, { entry: stubEntry });
}

const inStorage = (name: string): string => join(installation.dataDir, "accounts/1/storage", name);

async function holders(): Promise<number[]> {
  const all = await listProcesses();
  return all
    .filter(({ commandLine }) => commandLine.includes("port-holder.py hold") && commandLine.includes(installation.base))
    .map(({ pid }) => pid);
}

/** A request of another tenant, with its token. */
async function ask(host: string, at = port): Promise<object> {
  const reply = await fetch(`http://${host}:${at}/api/v1.2/account`, { headers: { "X-AUTH-TOKEN": "hg_of-another" } });
  const { status, headers } = reply;
  const [retryAfter, connection] = [headers.get("retry-after"), headers.get("connection")];
  return { status, retryAfter, connection, body: await reply.json().catch(() => "not our form") };
}

const hosts = ["127.0.0.1", "[::1]"];

async function expectServed(): Promise<void> {
  for (const host of hosts) expect(await ask(host)).toMatchObject({ status: 401 });
}

async function expectAway(): Promise<void> {
  for (const host of hosts) expect(await ask(host)).toEqual(AWAY);
}

/** A program that goes on until the file `enough` is there. */
async function runUntilEnough(program: string): Promise<void> {
  const operator = operatorClient(headgate, installation.dataDir);
  const id = await submitProgram(operator, program);
  await expect.poll(async () => (await operator.get(`/commands/${id}`)).pid, PATIENCE).toEqual(expect.any(Number));
}

const stolen = (): string => (existsSync(inStorage("stolen")) ? readFileSync(inStorage("stolen"), "utf8") : "");

/** Whatever is going on, the thief has tried for a while from now on. */
async function letThemTry(): Promise<void> {
  const rounds = (): number => Number(existsSync(inStorage("rounds")) ? readFileSync(inStorage("rounds"), "utf8") : 0);
  const before = rounds();
  await expect.poll(rounds, PATIENCE).toBeGreaterThan(before + 20);
}

describe.skipIf(python === undefined)("the port of the API", because("no Python below /usr"), () => {
  test("is never a program's: not while the server runs, stops, is stopped, is killed or starts", SLOW, async () => {
    await begin();
    await runUntilEnough(`${python} - ${port} "\${JOURNAL%/journal}" <<'END'\n${thief}END\n`);
    await letThemTry();
    await expectServed();

    // A holder that is killed is replaced: the stop below needs the new one.
    const [killed = 0] = await holders();
    process.kill(killed, "SIGKILL");
    await vi.waitFor(async () => expect((await holders()).filter((pid) => pid !== killed)).toHaveLength(1), PATIENCE);
    await letThemTry();

    await headgate.stop();
    await expectAway();
    await letThemTry();

    const starting = again();
    await letThemTry();
    await starting;
    expect(headgate.url).toBe(`http://127.0.0.1:${port}`);
    await expectServed();

    await headgate.crash();
    await letThemTry();
    await expectAway();
    expect(stolen()).toBe("");

    // Another port: the old one is released, which the thief proves.
    const old = port;
    port = await freePort();
    await again({ HEADGATE_PORT: String(port) });
    await expectServed();
    await expect.poll(stolen, PATIENCE).toContain("listens on");
    expect(await ask("127.0.0.1", old)).toMatchObject({ body: "not our form" });

    // With the last program the port is free again.
    await headgate.stop();
    await expectAway();
    writeFileSync(inStorage("enough"), "");
    await expect.poll(() => isFree(port), PATIENCE).toBe(true);
    expect(await holders()).toEqual([]);
  });
});
