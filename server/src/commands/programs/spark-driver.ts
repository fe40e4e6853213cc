import { join } from "node:path";
import { contributionDigest, type Contribution } from "../../engines/spark-home/contribution.ts";
import { findR as findRHere, type RSupport } from "../../engines/spark-home/find-r.ts";
import { adviseOnPackages } from "../../engines/spark-home/python-packages-advice.ts";
import type { PythonSetUp } from "../../engines/spark-home/python-set-up.ts";
import type { SparkHome } from "../../engines/spark-home/spark-home.ts";
import type { SparkSetUp } from "../../engines/spark-home/spark-set-up.ts";
import {
  driverCommandLine,
  type DriverCommandLine,
  statedMemoryMiB,
  type DriverProgram,
  type SourceProgram,
} from "../../engines/spark-submit/driver-command-line.ts";
import type { EventLogOf, EventLogs } from "../../engines/spark-submit/event-log/event-logs.ts";
import { runsHere } from "../../engines/spark-submit/executor-jars.ts";
import { describeFailure } from "../../engines/spark-submit/failure-reason.ts";
import { renderHandOver, standbyCommandLine, standbyReady } from "../../engines/spark-submit/standby-command-line.ts";
import { runsNoUserCode } from "../../engines/spark-submit/standby-rules.ts";
import { isOwnedByFormats } from "../../engines/table-formats/format-properties.ts";
import { Fault } from "../../lib/fault.ts";
import type { ContributionsOf, SparkScope } from "../execution/spark-scope.ts";
import type { DriverFolders, HandOver, ProgramDriver, StandbyLaunch } from "./program-driver.ts";
import { accountUserName } from "../execution/command-files.ts";
import { parseMemoryMiB } from "../../engines/spark-submit/setting-values.ts";
import { splitWords } from "../../lib/shell-words.ts";
import { macroValues } from "../submission/macros.ts";
import { languageOf } from "../submission/language.ts";
import { commandLineField, wordsIn } from "../submission/spark.ts";
import type { RunnableCommand } from "../store/command-row.ts";

/** Spark's own default for `spark.driver.memory`. */
const DEFAULT_MEMORY_MIB = 1024;
/** The memory of a driver besides its heap: the JVM itself and the interpreter of the program. */
const OVERHEAD_SHARE = 0.1;
const MIN_OVERHEAD_MIB = 384;
const MAX_NAMED = 100;

/** Runs programs and command lines on the Spark of this node. */
export function sparkDriver(
  setUp: Pick<SparkSetUp, "current">,
  contributionsOf: ContributionsOf,
  eventLogs: Pick<EventLogs, "progress">,
  python?: Pick<PythonSetUp, "current">,
  findR: (sparkHome: string) => Promise<RSupport> = findRHere,
): ProgramDriver {
  return {
    unready() {
      const { state, detail } = setUp.current();
      if (state === "ready") return null;
      return state === "installing" ? `Spark is being set up: ${detail}` : `Spark cannot be set up: ${detail}`;
    },

    memoryMiB: (command) => withOverhead(heapOf(command, DEFAULT_MEMORY_MIB)),

    statedMemoryMiB(command, text) {
      const heap = statedHeap(command, text);
      return heap === undefined ? undefined : withOverhead(heap);
    },

    async commandLine({ command, programText, requestId }, { work, input, eventLogFolder, applicationId }, onWait) {
      const spark = setUp.current();
      if (spark.state !== "ready") throw new Fault("unavailable", "Spark is not set up on this node");
      const contribution = await contributionsOf(command, onWait);
      checkRunsPrograms(contribution);
      const { properties, classPath, env, readOnly, hasTableFormats, ignored = [] } = contribution;
      const propertiesFile = join(input, "spark.properties");
      const { program, files } = await sparkProgram(command, programText ?? "", input, () => findR(spark.home.folder));
      const line = driverCommandLine({
        home: spark.home,
        program,
        properties,
        classPath,
        isServerSetting: hasTableFormats === true ? isOwnedByFormats : undefined,
        propertiesFile,
        defaultMemoryMiB: DEFAULT_MEMORY_MIB,
        applicationId,
        tags: { command: String(command.id), request: requestId },
        eventLogFolder,
        scratchFolder: join(work, ".spark"),
        userHome: work,
      });
      return {
        argv: line.argv,
        env: { ...ownEnvironment(work, command.accountId), ...line.env, ...env },
        files: { ...files, "spark.properties": line.propertiesText },
        readOnly: [...spark.home.readOnlyFolders, ...readOnly],
        notes: notesOn([...new Set([...ignored, ...line.ignored])]),
        memoryMiB: withOverhead(line.memoryMiB),
        handOver: line.fitsStandby && mayWait(contribution) ? handOverOf(line, contribution) : undefined,
      };
    },

    async standby(scope, folders) {
      const spark = setUp.current();
      const contribution = await contributionsOf(scope, startNoStandby);
      if (spark.state !== "ready" || !mayWait(contribution)) return undefined;
      return standbyLaunch(spark.home, contribution, scope, folders);
    },

    describeFailure: (exitCode, logTail, startedAt) =>
      describeFailure(exitCode, logTail, () => adviseOnPackages(python?.current(), startedAt)),
    followProgress: ({ eventLog: path }, accountId) => lastKnown(eventLogs, { path, owner: String(accountId) }),
  };
}

/** One standby driver starts at a time on this node, so it waits for no download: the next program brings that. */
function startNoStandby(reason: string): never {
  throw new Fault("unavailable", `a standby driver would be ${reason}`);
}

function standbyLaunch(
  home: SparkHome,
  contribution: Contribution,
  { accountId }: SparkScope,
  { work, input }: Pick<DriverFolders, "work" | "input">,
): StandbyLaunch {
  const { properties, classPath, env, readOnly } = contribution;
  const line = standbyCommandLine({
    home,
    properties,
    classPath,
    propertiesFile: join(input, "standby.properties"),
    defaultMemoryMiB: DEFAULT_MEMORY_MIB,
    scratchFolder: join(work, ".spark"),
    userHome: work,
  });
  return {
    digest: contributionDigest(contribution),
    generation: contribution.generation,
    greeting: standbyReady,
    memoryMiB: withOverhead(line.memoryMiB),
    argv: line.argv,
    env: { ...ownEnvironment(work, accountId), ...line.env, ...env },
    files: { "standby.properties": line.propertiesText },
    readOnly: [...home.readOnlyFolders, ...readOnly],
  };
}

function lastKnown(eventLogs: Pick<EventLogs, "progress">, log: EventLogOf): () => Promise<number> {
  let last = 0;
  return async () => {
    last = (await eventLogs.progress(log)) ?? last;
    return last;
  };
}

function handOverOf({ submission }: DriverCommandLine, contribution: Contribution): HandOver {
  const { generation } = contribution;
  return { digest: contributionDigest(contribution), generation, input: renderHandOver(submission) };
}

/** Users choose the names, so the log shows only a limited number of them. */
function notesOn(ignored: readonly string[]): string[] {
  const named = ignored.slice(0, MAX_NAMED).map((name) => `${printable(name)} is set by the server: ignored`);
  const others = ignored.length - named.length;
  return others === 0 ? named : [...named, `${others} more settings are set by the server: ignored`];
}

function printable(name: string): string {
  return /^[!-~]{1,255}$/.test(name) ? name : JSON.stringify(name.slice(0, 100));
}

function withOverhead(heapMiB: number): number {
  return heapMiB + Math.max(MIN_OVERHEAD_MIB, Math.ceil(heapMiB * OVERHEAD_SHARE));
}

/**
 * Without isolation the program's uid may have no entry in passwd; these variables are then the only source of its name
 * and home.
 */
function ownEnvironment(work: string, accountId: number): Record<string, string> {
  const name = accountUserName(accountId);
  return { PATH: "/usr/bin:/bin", HOME: work, USER: name, LOGNAME: name, LANG: "C.UTF-8" };
}

/** A standby driver opens a session on this machine and discards it; that is not done on clusters elsewhere. */
function mayWait({ remote, properties }: Contribution): boolean {
  return remote === undefined && runsHere(properties) && runsNoUserCode(properties);
}

/** The cluster may have become one that runs SQL only after the submission was accepted. */
function checkRunsPrograms({ remote }: Contribution): void {
  if (remote !== undefined) throw new Fault("invalid", "its cluster runs SQL only");
}

/** The program of a Spark command, and the files that hold its text, by name. */
interface SparkProgram {
  readonly program: DriverProgram;
  readonly files: Readonly<Record<string, string>>;
}

/** `input`: the folder of its file. Throws if the node lacks what the program needs. */
async function sparkProgram(
  command: RunnableCommand,
  text: string,
  input: string,
  findR: () => Promise<RSupport>,
): Promise<SparkProgram> {
  const inFile = (kind: SourceProgram["kind"], name: string): SparkProgram => ({
    program: {
      kind,
      file: join(input, name),
      arguments: wordsOf(command, "arguments"),
      programArguments: wordsOf(command, "user_program_arguments"),
    },
    files: { [name]: text },
  });
  switch (languageOf(command.command)) {
    case "command_line": {
      const field = commandLineField(command.command) ?? "cmdline";
      return { program: { kind: "command_line", field, words: splitWords(text, field) }, files: {} };
    }
    case "python":
      return inFile("python", "program.py");
    case "scala":
      return inFile("scala", "program.scala");
    case "R": {
      const found = await findR();
      if (found.kind === "missing") throw new Fault("invalid", found.reason);
      return inFile(found.kind === "sparkr" ? "R" : "R-by-python", "program.R");
    }
    case "sql":
      throw new Fault("internal", "SQL does not run as a program");
  }
}

/**
 * An earlier version may have accepted an invalid command. It counts with the default memory here, and fails with a reason
 * when it is started. The text of a script is not read.
 */
export function heapOf(command: RunnableCommand, defaultMiB: number): number {
  return statedHeap(command, null) ?? configuredHeapMiB(command) ?? defaultMiB;
}

/** The heap that the options of the command ask for; undefined: none. `text`: the script of a command line, if known. */
export function statedHeap(command: RunnableCommand, text: string | null): number | undefined {
  try {
    if (languageOf(command.command) !== "command_line") {
      const words = { arguments: wordsOf(command, "arguments"), programArguments: [] };
      return statedMemoryMiB({ kind: "python", file: "", ...words });
    }
    const words =
      text === null ? [...wordsOf(command, "cmdline"), ...wordsOf(command, "program")] : splitWords(text, "script");
    return words.length === 0 ? undefined : statedMemoryMiB({ kind: "command_line", field: "", words });
  } catch {
    return undefined;
  }
}

function configuredHeapMiB({ configuredHeap = null }: RunnableCommand): number | undefined {
  try {
    return configuredHeap === null ? undefined : parseMemoryMiB(configuredHeap, "spark.driver.memory");
  } catch {
    return undefined;
  }
}

function wordsOf({ command, resolvedMacros }: RunnableCommand, field: string): string[] {
  return wordsIn(command, field, macroValues(resolvedMacros));
}
