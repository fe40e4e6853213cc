/**
 * The account is the trust boundary: in a whole installation, a program of the second account tries to reach files and
 * processes of the server and of the first account. If the tests run as root, they also run with an unprivileged
 * server.
 */
import { spawnSync } from "node:child_process";
import { chownSync, existsSync, mkdirSync, readdirSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, inject, test, vi } from "vitest";
import { because } from "./skip-reasons/skip-reasons.ts";
import { commandFiles } from "../src/commands/execution/command-files.ts";
import { findUnprivilegedUser } from "../src/db/embedded/unprivileged-user.ts";
import { fetchedBubblewrap, systemFolders } from "../src/processes/sandbox/find-bubblewrap.ts";
import { findTestBubblewrap } from "./bubblewrap/find-test-bubblewrap.ts";
import { listProcesses } from "../src/lib/process-table.ts";
import { urlOf } from "./support/admin-cli.ts";
import type { Client } from "./support/client.ts";
import { isExhaustive } from "./support/exhaustive.ts";
import type { Manner } from "./support/headgate-process.ts";
import { databasePortOf, planIntrusion } from "./support/intrusion.ts";
import { listeningSockets } from "./support/listening-sockets.ts";
import { submitProgram } from "./support/programs.ts";
import { install, secondAccount, stubEntry, type Installation } from "./support/stub-installation.ts";
import { cloneDatabase, type TestDatabase } from "./support/test-database.ts";

const PATIENCE = { timeout: 45_000 };
const intruder = readFileSync(new URL("support/intruder.py", import.meta.url), "utf8");
const swapper = readFileSync(new URL("support/folder-swapper.py", import.meta.url), "utf8");
const hiddenMemory = readFileSync(new URL("support/hidden-memory.py", import.meta.url), "utf8");
const waysToHideMemory =
  "sockets connections_that_wait tcp process_without_first_thread page_tables shared_memory mappings".split(" ");
const python = ["/usr/bin/python3", "/usr/local/bin/python3"].find((path) => existsSync(path));
const nobody = findUnprivilegedUser();

const bubblewrap = await findTestBubblewrap(nobody);
const reason = bubblewrap.kind === "usable" ? "no Python below /usr" : bubblewrap.reason;

/** Other users cannot run a checkout in a private home folder. */
const canRunAsNobody =
  nobody !== undefined &&
  spawnSync("/usr/bin/test", ["-r", stubEntry], { uid: nobody.uid, gid: nobody.gid }).status === 0;
// eslint-disable-next-line no-console -- a skipped case says why
if (nobody !== undefined && !canRunAsNobody) console.warn(`other users cannot read ${stubEntry}: not tested as one`);

interface Case {
  readonly name: string;
  readonly manner: Manner;
}
const asNobody: Manner = nobody === undefined ? {} : { identity: { uid: nobody.uid, gid: nobody.gid } };
const ourselves: Case = { name: nobody === undefined ? "as an unprivileged user" : "as root", manner: {} };
const cases = canRunAsNobody ? [ourselves, { name: "as an unprivileged user", manner: asNobody }] : [ourselves];

interface Attempt {
  readonly attempt: readonly (string | number)[];
  readonly succeeded: boolean;
  readonly got: string;
}

interface Report {
  readonly attempts: readonly Attempt[];
  readonly variables: readonly string[];
  readonly commandLines: readonly string[];
  readonly descriptors: number;
  readonly sharedMemory: readonly string[];
  readonly groups: readonly number[];
  readonly user: number;
}

const isTested = bubblewrap.kind === "usable" && python !== undefined;
describe.skipIf(!isTested).each(cases)("a program, $name,", because(reason), ({ manner }) => {
  const marker = `run-off-${process.pid}-${Math.trunc(performance.now())}`;
  const victimMarker = `3${Math.trunc(performance.now())}.25`;
  let installation: Installation;
  let account: Client;
  let accountId: number;
  let victimId: number;
  let intruderId: number;
  let report: Report;

  beforeAll(async () => {
    installation = await install(manner, { HEADGATE_RUN_MEMORY: "30m", HEADGATE_RUN_NICE: "0" });
    ({ account, accountId } = await secondAccount(installation));
    victimId = await submitProgram(
      installation.operator,
      `echo private > \${JOURNAL%journal}private; echo private; exec sleep ${victimMarker}`,
    );
    await vi.waitFor(async () => {
      const victim = await installation.operator.get(`/commands/${victimId}`);
      expect(victim).toMatchObject({ status: "running", pid: expect.any(Number) });
      expect(existsSync(inData("accounts/1/storage/private"))).toBe(true);
    }, PATIENCE);
    const plan = JSON.stringify({ marker, ...(await planIntrusion(installation, victimId)) });
    intruderId = await submitProgram(account, `${python} - '${plan}' <<'END'\n${intruder}END\n`);
    const ended = await account.get(`/commands/${intruderId}?wait_seconds=45`);
    const { output, log } = own();
    expect(ended, readFileSync(log, "utf8")).toMatchObject({ status: "done" });
    report = JSON.parse(readFileSync(output, "utf8"));
  });

  afterAll(async () => {
    await installation.operator.put(`/commands/${victimId}`);
    await installation.operator.get(`/commands/${victimId}?wait_seconds=45`);
    await installation.end();
  });

  const own = () => commandFiles(installation.dataDir, accountId, intruderId).attempt(1);
  const inData = (...names: string[]): string => join(installation.dataDir, ...names);
  const apiPort = (): number => Number(new URL(installation.headgate.url).port);

  const succeeded = (...deeds: string[]): Attempt[] => {
    const tried = report.attempts.filter(({ attempt }) => deeds.includes(String(attempt[0])));
    expect(tried.length).toBeGreaterThan(0);
    return tried.filter((each) => each.succeeded);
  };

  test("cannot read files of the server, the database, its runner or another account", () => {
    expect(succeeded("read")).toEqual([]);
  });

  test("sees only the path to its account's storage in the data directory", () => {
    const seen = report.attempts.filter(({ attempt: [deed] }) => deed === "list");
    expect(seen.map(({ got }) => got)).toEqual(["['accounts']", `['${accountId}']`, "['storage']"]);
  });

  test("can write only into its own folders", () => {
    expect(succeeded("write", "remove")).toEqual([]);
  });

  test("can neither see nor signal other processes", () => {
    expect(succeeded("signal", "look_into")).toEqual([]);
    const seen = report.commandLines.join("\n");
    expect(seen).toContain("program.sh");
    for (const other of ["runner.mjs", victimMarker, "postgres"]) {
      expect(seen.replaceAll(JSON.stringify(intruder), "").includes(`${other}\0`), other).toBe(false);
    }
    expect(report.sharedMemory).toEqual([]);
  });

  test("cannot connect to the database by a socket, nor over TCP without a password", () => {
    expect(succeeded("connect_to_file", "log_in")).toEqual([]);
    const asked = report.attempts.filter(({ attempt: [deed, , user] }) => deed === "log_in" && user === "headgate");
    expect(asked.map(({ got }) => got)).toEqual(["asks for SCRAM", "asks for SCRAM"]);
  });

  test("gets nothing from the API without a token", () => {
    expect(succeeded("call_api")).toEqual([]);
  });

  test("finds no other port or abstract socket of the installation", async () => {
    const listening = await listeningSockets(installation.headgate.pid);
    expect(listening.ports).toContain(apiPort());
    expect(listening.ports.filter((port) => ![apiPort(), databasePortOf(installation)].includes(port))).toEqual([]);
    expect(listening.abstractSockets).toEqual([]);
  });

  test("has only the variables, groups and descriptors it is given", () => {
    const names = new Set(report.variables.map((variable) => variable.replace(/=.*/s, "")));
    const own = ["ATTEMPT", "COMMAND", "JOURNAL", "PATH"];
    const ofShellAndWrapper = ["HEADGATE_RUNNER", "LC_ALL", "OLDPWD", "PWD", "SHLVL", "_"];
    expect([...names].filter((name) => !ofShellAndWrapper.includes(name)).toSorted()).toEqual(own);
    expect(report.variables.join("\n")).not.toContain("canary");
    expect(report.descriptors).toBe(3);
    expect(report.groups.filter((group) => group === 0)).toEqual([]);
    expect(report.user).toBe(nobody === undefined || manner.identity !== undefined ? serverUid() : 200_000 + accountId);
  });

  const serverUid = (): number => manner.identity?.uid ?? process.getuid?.() ?? 0;

  test("leaves no process running, however it detached them", async () => {
    expect((await listProcesses()).filter(({ commandLine }) => commandLine.includes(marker))).toEqual([]);
  });

  test("cannot mislead the server by links and pipes in its folders", async () => {
    const body = { command_type: "SparkCommand", language: "python" };
    for (const name of ["link.py", "folder/admin-token", "pipe.py"]) {
      const script_location = `file://${inData("accounts", String(accountId), "storage", name)}`;
      await account.post("/commands", { ...body, script_location }).refused(422, /^script_location cannot be read/);
    }
    const secret = readFileSync(inData("admin-token"), "utf8").trim();
    for (const part of ["", "/results", "/logs", "/error_logs", "/jobs", "/status_with_results"]) {
      const { status, text } = await account.get(`/commands/${intruderId}${part}`).reply();
      expect({ part, status }).toEqual({ part, status: 200 });
      expect(text).not.toContain(secret);
    }
    expect(await account.get(`/commands/${intruderId}/jobs`)).toEqual([]);
  });

  test("cannot make the server remove the files of others by links in a folder that is being removed", async () => {
    const victim = join(installation.base, "victim");
    mkdirSync(victim);
    for (let file = 0; file < 50; file += 1) writeFileSync(join(victim, `file${file}`), "");
    if (manner.identity !== undefined)
      for (const path of [victim, ...readdirSync(victim).map((name) => join(victim, name))])
        chownSync(path, manner.identity.uid, manner.identity.gid);
    const run = (role: string): Promise<number> =>
      submitProgram(account, `exec ${python} - ${role} ${marker} ${victim} 100 50 <<'END'\n${swapper}END\n`);
    const [swapping, lending] = [await run("swap"), await run("lend")];
    expect(await account.get(`/commands/${lending}?wait_seconds=45`)).toMatchObject({ status: "done" });
    const { folder, work } = commandFiles(installation.dataDir, accountId, lending).attempt(1);
    await expect.poll(() => readdirSync(folder), PATIENCE).not.toContain(basename(work));
    expect(await account.get(`/commands/${swapping}?wait_seconds=45`)).toMatchObject({ status: "done" });
    expect((await account.get(`/commands/${swapping}/results`)).results).toMatch(/^swapped [1-9]/);
    expect(readdirSync(victim)).toHaveLength(50);
  });

  test("cannot hide memory from its limit", async () => {
    const hide = async (way: string): Promise<string> => {
      const id = await submitProgram(account, `exec ${python} - ${way} <<'END'\n${hiddenMemory}END\n`);
      const { status } = await account.get(`/commands/${id}?wait_seconds=45`);
      const { attempts } = await account.get(`/commands/${id}/attempts`);
      return `${way}: ${status}: ${attempts[0].cause}`;
    };
    // The runner counts memory in the same way for every user: the second one tries all ways only in `npm run test:full`.
    const ways = manner === ourselves.manner || isExhaustive ? waysToHideMemory : waysToHideMemory.slice(0, 2);
    const ends = await Promise.all(ways.map(hide));
    // Alone, because the sockets of the other programs would count for it.
    ends.push(await hide("sockets_in_messages"));
    expect(ends).toHaveLength(ways.length + 1);
    for (const end of ends) expect.soft(end).toMatch(/: error: too much memory: /);
  });

  test("leaves no folder that cannot be removed", async () => {
    await expect.poll(() => readdirSync(own().folder), PATIENCE).not.toContain(basename(own().work));
  });
});

describe("without isolation", () => {
  /** Hides every installed bubblewrap from this server, and gives pip no index to fetch one from. */
  const known = [
    ...systemFolders.map((folder) => join(folder, "bwrap")),
    fetchedBubblewrap(inject("postgres").cacheDir),
  ];
  const covers = known.flatMap((path) => (existsSync(path) ? ["--ro-bind", "/dev/null", realpathSync(path)] : []));
  const hiding: Manner =
    bubblewrap.kind === "usable"
      ? { wrapper: [bubblewrap.path, "--cap-add", "ALL", "--dev-bind", "/", "/", ...covers, "--"] }
      : {};
  const body = { command_type: "SparkCommand", language: "python", program: "echo ran" };
  let installation: Installation | undefined;
  let database: TestDatabase | undefined;
  afterEach(async () => {
    await installation?.end();
    await database?.drop();
    installation = undefined;
  });

  async function installWithout(settings: Record<string, string> = {}): Promise<Installation> {
    database = await cloneDatabase(); // faster than an embedded one
    installation = await install(hiding, { PIP_NO_INDEX: "1", DATABASE_URL: urlOf(database), ...settings });
    return installation;
  }

  async function whenEnded(account: Client): Promise<unknown> {
    return account.get(`/commands/${await submitProgram(account, body.program)}?wait_seconds=45`);
  }

  test("only the first account may run programs, and others are told what an operator can do", async () => {
    const restricted = await installWithout();
    const { account } = await secondAccount(restricted);
    await account.post("/commands", body).refused(422, /HEADGATE_ISOLATION=none/);
    expect(await account.get("/commands")).toMatchObject({ commands: [] });
    expect(await whenEnded(restricted.operator)).toMatchObject({ status: "done" });
    expect(restricted.headgate.stderr()).toMatch(/bubblewrap (is not installed|does not work|\S+ is too old)/);
  });

  test("every account may run programs if an operator allows it", async () => {
    const open = await installWithout({ HEADGATE_ISOLATION: "none" });
    expect(await whenEnded((await secondAccount(open)).account)).toMatchObject({ status: "done" });
    expect(open.headgate.stderr()).not.toMatch(/bubblewrap/);
  });
});
