/**
 * The runner: a detached process that runs one program to its end, whatever becomes of the server. Runner (`main.ts`)
 * and server (`runner-client.ts`) speak through the files of one folder and nothing else:
 *
 * | file        | written by | holds                                                                          |
 * |-------------|------------|--------------------------------------------------------------------------------|
 * | spec.json   | server     | what to run (`RunSpec`), before the runner is started                            |
 * | environment.json, descriptor3 | server | what the program gets besides; the runner removes them when it has them |
 * | order.json  | server     | of a program that waits: what it is told (`Order`), or that it is not needed; never replaced |
 * | taken       | either     | who may run it: a runner, or the server (empty) so that none ever will; never replaced |
 * | status.json | runner     | how it stands (`RunStatus`), written, synced, renamed; touched every second      |
 * | cancel      | server     | being there asks the runner to end the program                                   |
 * | output      | runner     | the program's standard output, byte for byte                                     |
 * | log         | runner     | its standard error up to the limit, then lines of the runner, `headgate: …`      |
 * | runner.err  | runner     | what a broken runner says                                                        |
 *
 * States of status.json:
 *
 * | state    | meaning                                             | goes to                                     |
 * |----------|-----------------------------------------------------|---------------------------------------------|
 * | starting | a runner has the folder, the program has not begun   | running; ended (spawn-failed, cancelled, …)   |
 * | waiting  | `standby` only: the program waits for its order       | running; ended (unused)                       |
 * | running  | the program may have begun                           | ended                                         |
 * | ended    | no process of it is left; `cause` says why it ended   | never changes                                 |
 *
 * A folder left in `starting` or `waiting` by a runner that is gone was never run; left in `running` it may have run. A
 * program runs at most once per folder.
 *
 * A program may be started before it is known what it has to do (`standby`): it greets on its standard output, waits, and
 * gets its order on standard input. An order appears whole and once (link(2)): whoever comes first, with an order or with
 * the word that none will come, has decided for ever. The runner writes `running` before it hands the order over, so what
 * is not `running` has not begun. Meanwhile the folder may be moved: the runner goes along, for it names nothing but what
 * is in it.
 *
 * Versions. Each file names the protocol's version. A reader takes every version up to its own: fields are only added,
 * each with a default that means what older writers did, and unknown fields are ignored. A runner refuses a spec that is
 * newer than itself, because it might leave out what it was told. Servers keep reading version 1 for ever: a runner
 * lives as long as its program, over any number of upgrades. `fixtures/` holds each version as it was first written.
 */
import { parseProcessHandle, type ProcessHandle } from "../detached-process/process-handle.ts";
import { readFields, type Fields } from "./fields.ts";

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
  /** `{version, variables}`: the whole environment. Removed once read. null: nothing but PATH. */
  readonly environmentFile: string | null;
  /** Given to the program as descriptor 3, and removed; null: none. */
  readonly descriptor3File: string | null;
  /** As root: who the program runs as; null: as the runner. */
  readonly identity: { readonly uid: number; readonly gid: number } | null;
  /** null: `output` and `log` in the folder. */
  readonly outputFile: string | null;
  readonly logFile: string | null;
  readonly logLimitBytes: number;
  /** The program is ended at the first check at which it has run that long; null: never. */
  readonly timeoutSeconds: number | null;
  readonly checkSeconds: number;
  /** What earlier attempts have used up of the timeout. */
  readonly elapsedSeconds: number;
  /** Between SIGTERM and SIGKILL on a cancel or timeout. */
  readonly graceSeconds: number;
  /** The program may only run while this file (`lease.ts`) is being renewed; null: always. */
  readonly leaseFile: string | null;
  readonly leaseSeconds: number;
  /** Since version 2. The program is started at once and waits for its order; null: it is run. */
  readonly standby: Standby | null;
  /** Since version 3. A roster (`roster.ts`) that names the runner while its program is at work; null: none. */
  readonly rosterFolder: string | null;
  /**
   * Since version 3. Ends the program when its server does not come back; null: the program goes on without a server.
   */
  readonly orphan: OrphanRule | null;
  /** Since version 4. What the program may take; null: as much as it likes. */
  readonly resources: ResourceLimits | null;
}

/** Null in it: no limit. */
export interface ResourceLimits {
  /** Processes and threads together, as the kernel counts them. */
  readonly tasks: number | null;
  /** Of processes (setsid), where the kernel gives each session an equal share of the processor. */
  readonly sessions: number | null;
  /** Of all its processes, with what they keep in /dev/shm. */
  readonly memoryBytes: number | null;
  /** Of its standard output. */
  readonly outputBytes: number | null;
  /** Of the files in `folder`. */
  readonly diskBytes: number | null;
  /** Counts from the run's folder. */
  readonly folder: string;
  /** How far it stands back from other processes, as nice(1) counts it. */
  readonly nice: number;
  /** The control group that the run's own is made in; null: the runner watches alone. */
  readonly controlGroup: string | null;
}

/** The part of the rule that is the same for all runners of a server. */
export interface OrphanTerms {
  /** In the data directory. The server renews it while it lives (`presence.ts`). */
  readonly presenceFile: string;
  /** The program ends when the server has been silent and the program idle for this long. */
  readonly afterSeconds: number;
}

/** The rule applies to a standby driver only while it waits: with its order it becomes a program like any other. */
export interface OrphanRule extends OrphanTerms {
  /** The program keeps this file while it is at work; null: it does not report that. */
  readonly busyFile: string | null;
  /** A roster: the program is needed while a live runner is named in it; null: no other process needs the program. */
  readonly usersFolder: string | null;
}

export interface Standby {
  /** What it writes first, when it waits; its output is what follows. */
  readonly greeting: string;
  /** It waits no longer than that. */
  readonly waitSeconds: number;
}

/** Its limits count from the order on, in place of the spec's. */
export interface Order extends Pick<RunSpec, "timeoutSeconds" | "checkSeconds" | "elapsedSeconds"> {
  /** For the program's standard input, which ends behind it. */
  readonly input: string;
}

/**
 * `stopped`: the runner got a signal to end, its folder was removed, or its server did not come back. `unused` (since
 * version 2): it ended for any reason before it had an order. `limit` (since version 4): it took more than `resources`
 * allows; the message names the limit.
 */
export type EndCause = (typeof causes)[number];

export interface RunStatus {
  readonly state: (typeof states)[number];
  readonly runner: ProcessHandle;
  readonly driver: ProcessHandle | null;
  readonly startedAt: string | null;
  readonly endedAt: string | null;
  /** The program's own; both null when it never began. In a sandbox a signal shows as exit code 128 + its number. */
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly cause: EndCause | null;
  /** One line for people, when the cause alone does not tell. */
  readonly message: string | null;
}

/** Null: it is not needed. */
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

/** Throws an Error that says what is wrong. */
export function parseSpec(text: string): RunSpec {
  const fields = readFields(text);
  const version = fields.number("version");
  if (version > protocolVersion) {
    throw new Error(`the spec has protocol version ${version}, this runner knows ${protocolVersion}`);
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
  if (runner === undefined || knownState === undefined) throw new Error("not the status of a run");
  return {
    state: knownState,
    runner,
    driver: parseProcessHandle(fields.value("driver")) ?? null,
    startedAt: fields.optionalString("startedAt"),
    endedAt: fields.optionalString("endedAt"),
    exitCode: fields.optionalNumber("exitCode"),
    signal: fields.optionalString("signal"),
    // A cause that a newer runner knows, after a downgrade: it ended, and its message says why.
    cause: cause === null ? null : (causes.find((name) => name === cause) ?? "stopped"),
    message: fields.optionalString("message"),
  };
}

export function render(content: RunSpec | RunStatus | OrderFile | { readonly runner: ProcessHandle }): string {
  return JSON.stringify({ version: protocolVersion, ...content });
}
