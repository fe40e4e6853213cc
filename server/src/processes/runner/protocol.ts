/**
 * The runner is a detached process that runs one program to its end, whatever happens to the server. Runner (`main.ts`)
 * and server (`runner-client.ts`) communicate only through the files of one folder:
 *
 * | file        | written by | holds                                                                          |
 * |-------------|------------|--------------------------------------------------------------------------------|
 * | spec.json   | server     | what to run (`RunSpec`), before the runner is started                            |
 * | environment.json, descriptor3 | server | further input of the program; the runner removes them after reading |
 * | order.json  | server     | for a waiting program: its order (`Order`), or that it is not needed; never replaced |
 * | taken       | either     | the runner that runs the folder; empty: the server's claim, so that no runner ever will; never replaced |
 * | status.json | runner     | the state (`RunStatus`), written, synced, renamed; touched every second          |
 * | cancel      | server     | requests the end of the program by its existence                                 |
 * | output      | runner     | the program's standard output, byte for byte                                     |
 * | log         | runner     | its standard error up to the limit, then lines of the runner, `headgate: …`      |
 * | runner.err  | runner     | error messages of a failed runner                                                |
 *
 * States of status.json:
 *
 * | state    | meaning                                             | goes to                                     |
 * |----------|-----------------------------------------------------|---------------------------------------------|
 * | starting | a runner has the folder, the program has not begun   | running; ended (spawn-failed, cancelled, …)   |
 * | waiting  | `standby` only: the program waits for its order       | running; ended (unused)                       |
 * | running  | the program may have begun                           | ended                                         |
 * | ended    | no process is left; `cause` says why it ended         | never changes                                 |
 *
 * If the runner is gone, a folder in `starting` or `waiting` was never run; a folder in `running` may have run. A
 * program runs at most once per folder.
 *
 * A program may be started before its work is known (`standby`): it writes a greeting to its standard output, waits,
 * and gets its order on standard input. The order file appears whole and once (link(2)), so the first writer decides
 * for good whether there is an order. The runner writes `running` before it passes the order on, so a program that is
 * not `running` has not begun. The folder of a waiting program may be moved: the runner uses only relative paths in it.
 *
 * Versions. Each file names the protocol's version. A reader accepts every version up to its own: fields are only
 * added, each with a default for older writers, and unknown fields are ignored. A runner refuses a spec newer than
 * itself, because it might ignore a required field. Servers must read version 1 for ever: a runner lives as long as its
 * program, over any number of upgrades. `fixtures/` holds each version as it was first written.
 */
import { parseProcessHandle, type ProcessHandle } from "../detached-process/detached-process.ts";
import { readFields, type Fields } from "./json-fields.ts";

export const protocolVersion = 4;

export const fileNames = {
  spec: "spec.json",
  environment: "environment.json",
  descriptor3: "descriptor3",
  order: "order.json",
  taken: "taken",
  status: "status.json",
  cancel: "cancel",
  output: "output",
  log: "log",
  runnerErrors: "runner.err",
} as const;

export interface RunSpec {
  readonly argv: readonly string[];
  readonly cwd: string;
  /** `{version, variables}`: the whole environment. Removed once read. null: only PATH is set. */
  readonly environmentFile: string | null;
  /** Passed to the program as descriptor 3, and removed; null: none. */
  readonly descriptor3File: string | null;
  /** The program's user, if the runner is root; null: the runner's own. */
  readonly identity: { readonly uid: number; readonly gid: number } | null;
  /** null here and in `logFile`: `output` and `log` in the folder. */
  readonly outputFile: string | null;
  readonly logFile: string | null;
  readonly logLimitBytes: number;
  /** The program is ended at the first check after this time; null: never. */
  readonly timeoutSeconds: number | null;
  readonly checkSeconds: number;
  /** The part of the timeout that earlier attempts have used. */
  readonly elapsedSeconds: number;
  /** Time between SIGTERM and SIGKILL on a cancel or timeout. */
  readonly graceSeconds: number;
  /** The program may only run while this file (`lease.ts`) is being renewed; null: always. */
  readonly leaseFile: string | null;
  readonly leaseSeconds: number;
  /** Since version 2. The program is started at once and waits for its order; null: it runs without an order. */
  readonly standby: Standby | null;
  /** Since version 3. A roster (`roster.ts`) that lists the runner while its program is busy; null: none. */
  readonly rosterFolder: string | null;
  /**
   * Since version 3. Ends the program when its server does not come back; null: the program runs on without a server.
   */
  readonly orphan: OrphanRule | null;
  /** Since version 4. null: no limits. */
  readonly resources: ResourceLimits | null;
}

/** Null: no limit. */
export interface ResourceLimits {
  /** Processes and threads together, as the kernel counts them. */
  readonly tasks: number | null;
  /** Sessions (setsid), where the kernel gives each session an equal share of the processor. */
  readonly sessions: number | null;
  /** Memory of all its processes, including their files in /dev/shm. */
  readonly memoryBytes: number | null;
  /** Size of its standard output. */
  readonly outputBytes: number | null;
  /** Size of the files in `folder`. */
  readonly diskBytes: number | null;
  /** Relative to the run's folder. */
  readonly folder: string;
  /** The program's niceness, as in nice(1). */
  readonly nice: number;
  /** The parent of the run's own control group; null: only the runner checks the limits. */
  readonly controlGroup: string | null;
}

/** The part of the rule that is the same for all runners of a server. */
export interface OrphanTerms {
  /** A file in the data directory that a live server renews (`renewPresence`). */
  readonly presenceFile: string;
  /** The program ends when the server has been silent and the program idle for this long. */
  readonly afterSeconds: number;
}

/** The rule applies to a standby driver only while it waits: after its order it is a program like any other. */
export interface OrphanRule extends OrphanTerms {
  /** This file exists while the program is busy; null: the program does not report that. */
  readonly busyFile: string | null;
  /** A roster: the program is needed while a live runner is in it; null: no other process needs the program. */
  readonly usersFolder: string | null;
}

export interface Standby {
  /** The program writes this when it is ready for its order; its output begins after it. */
  readonly greeting: string;
  /** The program is ended when it has waited this long. */
  readonly waitSeconds: number;
}

/** The limits replace those of the spec and count from the order on. */
export interface Order extends Pick<RunSpec, "timeoutSeconds" | "checkSeconds" | "elapsedSeconds"> {
  /** Written to the program's standard input, which is then closed. */
  readonly input: string;
}

/**
 * `stopped`: the runner got a signal to end, its folder was removed, or its server did not come back. `unused` (since
 * version 2): the program ended for any reason before it got an order. `limit` (since version 4): the program exceeded
 * `resources`; the message names the limit.
 */
export type EndCause = (typeof causes)[number];

export interface RunStatus {
  readonly state: (typeof states)[number];
  readonly runner: ProcessHandle;
  readonly driver: ProcessHandle | null;
  readonly startedAt: string | null;
  readonly endedAt: string | null;
  /** Both null if the program never began. In a sandbox a signal shows as exit code 128 + its number. */
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly cause: EndCause | null;
  /** One line for users, if the cause alone is not enough. */
  readonly message: string | null;
}

/** Null: the program is not needed. */
export interface OrderFile {
  readonly order: Order | null;
}

export function parseOrder(text: string): OrderFile {
  const fields = readFields(text).optionalObject("order");
  if (fields === null) return { order: null };
  return {
    order: {
      input: fields.string("input"),
      timeoutSeconds: fields.optionalNumber("timeoutSeconds"),
      checkSeconds: fields.number("checkSeconds"),
      elapsedSeconds: fields.number("elapsedSeconds"),
    },
  };
}

/** Throws an Error with the reason if the spec is invalid. */
export function parseSpec(text: string): RunSpec {
  const fields = readFields(text);
  const version = fields.number("version");
  if (version > protocolVersion) {
    throw new Error(`the spec has protocol version ${version}, this runner supports up to ${protocolVersion}`);
  }
  return {
    argv: fields.strings("argv"),
    cwd: fields.string("cwd"),
    environmentFile: fields.optionalString("environmentFile"),
    descriptor3File: fields.optionalString("descriptor3File"),
    identity: parseIdentity(fields.optionalObject("identity")),
    outputFile: fields.optionalString("outputFile"),
    logFile: fields.optionalString("logFile"),
    logLimitBytes: fields.number("logLimitBytes", 100_000_000),
    timeoutSeconds: fields.optionalNumber("timeoutSeconds"),
    checkSeconds: fields.number("checkSeconds", 60),
    elapsedSeconds: fields.number("elapsedSeconds", 0),
    graceSeconds: fields.number("graceSeconds", 10),
    leaseFile: fields.optionalString("leaseFile"),
    leaseSeconds: fields.number("leaseSeconds", 600),
    standby: parseStandby(fields.optionalObject("standby")),
    rosterFolder: fields.optionalString("rosterFolder"),
    orphan: parseOrphanRule(fields.optionalObject("orphan")),
    resources: parseResources(fields.optionalObject("resources")),
  };
}

function parseResources(fields: Fields | null): ResourceLimits | null {
  if (fields === null) return null;
  return {
    tasks: fields.optionalNumber("tasks"),
    sessions: fields.optionalNumber("sessions"),
    memoryBytes: fields.optionalNumber("memoryBytes"),
    outputBytes: fields.optionalNumber("outputBytes"),
    diskBytes: fields.optionalNumber("diskBytes"),
    folder: fields.string("folder"),
    nice: fields.number("nice", 0),
    controlGroup: fields.optionalString("controlGroup"),
  };
}

function parseOrphanRule(fields: Fields | null): OrphanRule | null {
  if (fields === null) return null;
  return {
    presenceFile: fields.string("presenceFile"),
    afterSeconds: fields.number("afterSeconds"),
    busyFile: fields.optionalString("busyFile"),
    usersFolder: fields.optionalString("usersFolder"),
  };
}

function parseStandby(fields: Fields | null): Standby | null {
  return fields === null ? null : { greeting: fields.string("greeting"), waitSeconds: fields.number("waitSeconds") };
}

function parseIdentity(fields: Fields | null): RunSpec["identity"] {
  return fields === null ? null : { uid: fields.number("uid"), gid: fields.number("gid") };
}

const states = ["starting", "waiting", "running", "ended"] as const;
const causes = [
  "exited",
  "timeout",
  "cancelled",
  "lease-lost",
  "spawn-failed",
  "disk-full",
  "stopped",
  "unused",
  "limit",
] as const;

export function parseStatus(text: string): RunStatus {
  const fields = readFields(text);
  const state = fields.string("state");
  const cause = fields.optionalString("cause");
  const runner = parseProcessHandle(fields.value("runner"));
  const knownState = states.find((name) => name === state);
  if (runner === undefined || knownState === undefined) throw new Error("status.json is not a valid status of a run");
  return {
    state: knownState,
    runner,
    driver: parseProcessHandle(fields.value("driver")) ?? null,
    startedAt: fields.optionalString("startedAt"),
    endedAt: fields.optionalString("endedAt"),
    exitCode: fields.optionalNumber("exitCode"),
    signal: fields.optionalString("signal"),
    // After a downgrade the cause may be one that only a newer version knows; the message says why the run ended.
    cause: cause === null ? null : (causes.find((name) => name === cause) ?? "stopped"),
    message: fields.optionalString("message"),
  };
}

export function render(content: RunSpec | RunStatus | OrderFile | { readonly runner: ProcessHandle }): string {
  return JSON.stringify({ version: protocolVersion, ...content });
}
