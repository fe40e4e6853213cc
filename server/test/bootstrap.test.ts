/**
 * bootstrap.mjs in its own checkout, with a stub of npm that records its calls and creates the files that npm would.
 * The real npm needs a registry.
 */
import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, expect, test } from "vitest";

const standInNpm = `
import { appendFileSync, existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
const [command, ...flags] = process.argv.slice(2);
appendFileSync("calls", [command, ...flags].join(" ") + "\\n");
if (existsSync("npm-fails-on-" + command)) { console.error("npm error code ENOTFOUND"); process.exit(1); }
if (command === "install") {
  const packages = { "node_modules/pg": {}, ...(flags.includes("--include=dev") ? { "node_modules/vitest": { dev: true } } : {}) };
  for (const path of Object.keys(packages)) { mkdirSync(path, { recursive: true }); writeFileSync(path + "/package.json", "{}"); }
  const givesUpAt = Date.now() + 60_000; // so that it ends even if the test is killed
  while (existsSync("npm-hangs") && Date.now() < givesUpAt) await new Promise((resolve) => setTimeout(resolve, 10));
  mkdirSync("node_modules/.bin", { recursive: true });
  rmSync("node_modules/.bin/node", { force: true });
  symlinkSync(process.execPath, "node_modules/.bin/node");
  writeFileSync("node_modules/.package-lock.json", JSON.stringify({ packages }));
}
`;

const repository = join(import.meta.dirname, "../..");
let checkout: string;
let children: ChildProcess[];

beforeEach(() => {
  checkout = mkdtempSync(join(tmpdir(), "headgate-bootstrap-"));
  children = [];
  cpSync(join(repository, "bootstrap"), join(checkout, "bootstrap"), { recursive: true });
  cpSync(join(repository, "bootstrap.mjs"), join(checkout, "bootstrap.mjs"));
  mkdirSync(join(checkout, "server"));
  write("package.json", JSON.stringify({ workspaces: ["server"] }));
  write("package-lock.json", "{}");
  write("server/package.json", "{}");
  write("npm-cli.mjs", standInNpm);
  write("npm-cli.js", 'import("./npm-cli.mjs");');
});

afterEach(() => {
  for (const child of children) child.kill("SIGKILL");
  rmSync(checkout, { recursive: true, force: true, maxRetries: 20 });
});

function write(path: string, content: string): void {
  writeFileSync(join(checkout, path), content);
}

function start(command: string): { child: ChildProcess; ended: Promise<{ code: number | null; output: string }> } {
  const child = spawn(process.execPath, ["bootstrap.mjs", command], {
    cwd: checkout,
    env: { PATH: process.env["PATH"], npm_execpath: join(checkout, "npm-cli.js"), npm_node_execpath: process.execPath },
    stdio: ["ignore", "pipe", "pipe"],
  });
  children.push(child);
  const ended = Promise.all([once(child, "exit"), text(child.stdout), text(child.stderr)]).then(
    ([, stdout, stderr]) => ({ code: child.exitCode, output: stdout + stderr }),
  );
  return { child, ended };
}

const run = (command: string) => start(command).ended;

/** The calls of npm install, one per line. */
function installs(): string[] {
  const calls = existsSync(join(checkout, "calls")) ? readFileSync(join(checkout, "calls"), "utf8") : "";
  return calls.split("\n").filter((call) => call.startsWith("install"));
}

/** A zombie does not count as running; in a container it may never be reaped. */
function isRunning(pid: number): boolean {
  const state = spawnSync("ps", ["-o", "stat=", "-p", String(pid)], { encoding: "utf8" }).stdout.trim();
  return state !== "" && !state.startsWith("Z");
}

/** The pid of the npm in the lock of an installer; 0 if there is none. */
function notedNpm(): number {
  const lockDir = join(checkout, "node_modules/.headgate/lock");
  const note = readdirSync(lockDir).find((name) => name.endsWith(".child"));
  return note === undefined ? 0 : Number.parseInt(readFileSync(join(lockDir, note), "utf8"), 10) || 0;
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 10));
}

test("the first start installs without development packages, the second prints and writes nothing", async () => {
  expect(await run("start")).toMatchObject({ code: 0, output: expect.stringContaining("Installing packages: done") });
  expect(installs()).toEqual([expect.stringMatching(/^install --no-save --omit=dev /)]);
  expect(await run("start")).toEqual({ code: 0, output: "" });
  expect(await run("admin")).toEqual({ code: 0, output: "" });
  expect(installs()).toHaveLength(1);
});

test("tests install the development packages, and a later start keeps them", async () => {
  await run("start");
  await run("test");
  write("server/package.json", '{"version":"2"}');
  await run("start");
  expect(installs().map((call) => call.includes("--include=dev"))).toEqual([false, true, true]);
  expect(await run("test")).toEqual({ code: 0, output: "" });
});

test("changed or missing packages are installed again", async () => {
  await run("start");
  write("package-lock.json", '{"changed":true}');
  await run("start");
  write("package.json", '{"workspaces":["server"],"changed":true}');
  await run("start");
  rmSync(join(checkout, "node_modules/pg"), { recursive: true });
  await run("start");
  rmSync(join(checkout, "node_modules/.bin/node"));
  await run("start");
  expect(installs()).toHaveLength(5);
  expect(await run("start")).toEqual({ code: 0, output: "" });
});

test("a second installation waits, names the process it waits for, and installs nothing", async () => {
  write("npm-hangs", "");
  const first = start("start");
  await until(() => installs().length === 1);
  const second = start("start");
  await once(second.child.stderr ?? second.child, "data"); // it names the process before it waits
  rmSync(join(checkout, "npm-hangs"));
  expect((await first.ended).code).toBe(0);
  expect(await second.ended).toMatchObject({
    code: 0,
    output: expect.stringContaining(`Waiting for process ${first.child.pid}, which installs`),
  });
  expect(installs()).toHaveLength(1);
});

test("an interrupted installation starts over", async () => {
  write("npm-hangs", "");
  const first = start("test");
  await until(() => existsSync(join(checkout, "node_modules/vitest/package.json")));
  write("node_modules/pg/half", "");
  first.child.kill("SIGTERM");
  expect(await first.ended).toMatchObject({ code: 143, output: expect.stringContaining("interrupted") });
  rmSync(join(checkout, "npm-hangs"));
  expect((await run("start")).output).toContain("Removing an installation that was interrupted");
  expect(existsSync(join(checkout, "node_modules/pg/half"))).toBe(false);
  expect(installs().map((call) => call.includes("--include=dev"))).toEqual([true, true]);
  expect(await run("start")).toEqual({ code: 0, output: "" });
});

test("the npm of a killed installer is ended before the next begins", async () => {
  write("npm-hangs", "");
  const first = start("start");
  await until(() => installs().length === 1);
  await until(() => isRunning(notedNpm())); // npm may be faster than the note about it
  const npm = notedNpm();
  first.child.kill("SIGKILL");
  await once(first.child, "exit");
  expect(isRunning(npm)).toBe(true);
  const second = start("start");
  await until(() => installs().length === 2);
  expect(isRunning(npm)).toBe(false);
  rmSync(join(checkout, "npm-hangs"));
  expect((await second.ended).code).toBe(0);
});

test("without a registry npm's cache is used; without both the message says what to do", async () => {
  write("npm-fails-on-view", "");
  expect((await run("start")).code).toBe(0);
  expect(installs()).toEqual([expect.stringContaining(" --offline ")]);
  write("package-lock.json", "[]");
  write("npm-fails-on-install", "");
  const failed = await run("start");
  expect(failed).toMatchObject({ code: 1, output: expect.stringContaining("The package registry cannot be reached.") });
  expect(failed.output).toContain("run the same command again");
  rmSync(join(checkout, "npm-fails-on-install"));
  expect((await run("start")).output).not.toContain("interrupted");
});

test("an unknown command is refused", async () => {
  expect(await run("fly")).toEqual({ code: 2, output: "usage: node bootstrap.mjs start|admin|setup|test\n" });
});
