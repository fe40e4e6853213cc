import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { closeSync, constants, existsSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { Socket } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Writable } from "node:stream";
import { setPriority } from "node:os";
import { readBootId, startTimeOfChild } from "../../lib/process-table.ts";
import type { ProcessHandle } from "../detached-process/detached-process.ts";
import { readFields } from "./json-fields.ts";
import { markName, markOf } from "./mark.ts";
import { openControlGroup, type ControlGroup } from "./control-group.ts";
import type { ResourceLimits, RunSpec } from "./protocol.ts";
import { setSessionNice } from "../detached-process/session-nice.ts";

/** The program's first process, started but held at a gate: it runs nothing until `release`. */
export interface Driver {
  readonly handle: ProcessHandle;
  readonly child: ChildProcess;
  readonly group: ControlGroup | undefined;
  readonly stdout: Socket;
  readonly stderr: Socket;
  release(): void;
  /** Writes to the standard input of a waiting program and closes it. */
  sendInput(input: string): void;
  /** Tells the lifeline that no process of the program is left, so that it does not search for any. */
  dismissLifeline(): void;
}

/** Waits for `go` before it becomes the program, so that nothing runs before its handle is on the disk. */
const gate = 'read -r word <&4 && [ "$word" = go ] || exit 125; exec 4<&-; exec "$@"';

/** Throws an Error with the reason if the program cannot be started. */
export async function startDriver(folder: string, spec: RunSpec, runner: ProcessHandle): Promise<Driver> {
  const mark = markOf(runner);
  const lifeline = startLifeline(mark);
  const [stdout, stderr] = openPipes(join(folder, "stdout.pipe"), join(folder, "stderr.pipe"));
  const extra = spec.descriptor3File === null ? "ignore" : openSync(spec.descriptor3File, "r");
  try {
    const env = readEnvironment(spec.environmentFile);
    // Both may hold secrets and are needed only once.
    for (const path of [spec.environmentFile, spec.descriptor3File]) if (path !== null) rmSync(path);
    assertProgram(spec, env);
    const child = spawn("/bin/sh", ["-c", gate, "gate", ...spec.argv], {
      cwd: spec.cwd,
      env: { ...env, [markName]: mark.slice(markName.length + 1) },
      stdio: [spec.standby === null ? "ignore" : "pipe", stdout.writeEnd, stderr.writeEnd, extra, "pipe"],
      detached: true,
      ...spec.identity,
    });
    const { pid } = child;
    if (pid === undefined) throw await new Promise<Error>((settle) => child.once("error", settle));
    const startTime = startTimeOfChild(pid); // before any await: until then even an ended child has its /proc entry
    const handle = { bootId: await readBootId(), pid, startTime: (await startTime) ?? "" };
    lifeline.write(`${pid} ${handle.startTime}\n`);
    const group = spec.resources === null ? undefined : limitDriver(spec.resources, handle);
    return {
      handle,
      child,
      group,
      stdout: readPipe(stdout.readEnd),
      stderr: readPipe(stderr.readEnd),
      release: () => writeAndClose(child.stdio[4] as Writable, "go\n"), // requested as a pipe above
      sendInput: (input) => {
        if (child.stdin !== null) writeAndClose(child.stdin, input);
      },
      dismissLifeline: () => void lifeline.write("over\n"),
    };
  } finally {
    closeSync(stdout.writeEnd);
    closeSync(stderr.writeEnd);
    if (extra !== "ignore") closeSync(extra);
  }
}

function limitDriver(resources: ResourceLimits, { pid, startTime }: ProcessHandle): ControlGroup | undefined {
  lowerPriority(pid, resources.nice);
  const { controlGroup } = resources;
  const group = controlGroup === null ? undefined : openControlGroup(controlGroup, `${pid}-${startTime}`, resources);
  group?.add(pid);
  return group;
}

function writeAndClose(pipe: Writable, text: string): void {
  pipe.on("error", () => undefined); // the process was killed meanwhile, which its exit will show
  pipe.end(text);
}

/** A separate process that ends the program when the runner is gone, even after a SIGKILL. */
function startLifeline(mark: string): Writable {
  const script = fileURLToPath(new URL("lifeline.sh", import.meta.url));
  // The folder lets readers of the process table recognise the data directory (`processes/port-holder`).
  const { stdin, pid } = spawn("/bin/sh", [script, mark, process.cwd()], {
    cwd: "/",
    env: { PATH: "/usr/bin:/bin" },
    stdio: ["pipe", "ignore", "ignore"],
    detached: true,
  }).on("error", () => undefined);
  if (pid === undefined) throw new Error("cannot start a process");
  stdin.on("error", () => undefined); // the lifeline was killed: the program then survives a SIGKILL of the runner
  return stdin;
}

interface Pipe {
  readonly readEnd: number;
  readonly writeEnd: number;
}

/**
 * Node's own pipes to a child are sockets, which a program cannot reopen as /dev/stdout. A named pipe can be reopened
 * by every user with access. Its name exists only for a moment, in a folder that other users cannot enter.
 */
function openPipes(...paths: [string, string]): [Pipe, Pipe] {
  for (const path of paths) rmSync(path, { force: true });
  const made = spawnSync("mkfifo", ["-m", "622", ...paths], { env: { PATH: "/usr/bin:/bin" }, encoding: "utf8" });
  if (made.status !== 0) throw new Error(`cannot create a pipe: ${made.error?.message ?? made.stderr.trim()}`);
  return [openPipe(paths[0]), openPipe(paths[1])];
}

function openPipe(path: string): Pipe {
  const readEnd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const writeEnd = openSync(path, constants.O_WRONLY);
  rmSync(path);
  return { readEnd, writeEnd };
}

function readPipe(descriptor: number): Socket {
  return new Socket({ fd: descriptor, readable: true, writable: false });
}

function readEnvironment(path: string | null): Record<string, string> {
  if (path === null) return { PATH: "/usr/bin:/bin" };
  const variables = readFields(readFileSync(path, "utf8")).optionalObject("variables");
  if (variables === null) throw new Error(`${path} holds no variables`);
  return Object.fromEntries(variables.names().map((name) => [name, variables.string(name)]));
}

/** The gate reports a failed exec as the program's own exit code, so missing programs are detected before. */
function assertProgram({ argv, cwd }: RunSpec, env: Readonly<Record<string, string>>): void {
  const [file = ""] = argv;
  const folders = file.includes("/") ? [""] : (env["PATH"] ?? "").split(":").map((folder) => `${folder}/`);
  const found = folders.some((folder) =>
    existsSync(folder === "" && !file.startsWith("/") ? join(cwd, file) : folder + file),
  );
  if (!found) throw new Error(`the program ${file} does not exist`);
  if (!existsSync(cwd)) throw new Error(`the folder ${cwd} does not exist`);
}

/** When memory runs out, the kernel kills programs before the server and its database. */
const OOM_SCORE = 500;

/** For a process without children yet: its later children inherit the settings. */
function lowerPriority(pid: number, nice: number): void {
  attempt(() => writeFileSync(`/proc/${pid}/oom_score_adj`, String(OOM_SCORE)));
  if (nice === 0) return;
  attempt(() => setPriority(pid, nice));
  setSessionNice(`/proc/${pid}`, nice);
}

/** Not every system supports these settings or permits them; programs run without them too. */
function attempt(work: () => void): void {
  try {
    work();
  } catch {
    // see above
  }
}
