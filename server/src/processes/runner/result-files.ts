import { closeSync, fsyncSync, ftruncateSync, openSync, writeSync } from "node:fs";
import { basename, join } from "node:path";
import type { Socket } from "node:net";
import { openCappedLog } from "./capped-log.ts";
import { isDiskFullError } from "./disk-full.ts";
import { fileNames, type RunSpec } from "./protocol.ts";
import { tooMuchOutput } from "./allowance.ts";
import type { EndReason } from "./watch-for-end.ts";

export interface ResultFiles {
  /**
   * Settles when both pipes are closed: the last process that could write is gone. If writing fails or the output
   * exceeds its limit, `onFailure` is called and the rest is discarded, so that the program never blocks. The output
   * begins after the greeting.
   */
  collect(streams: OutputStreams, onFailure: (reason: EndReason) => void, greeting?: Greeting): Promise<void>;
  /** Whether the end of the log reports a fork failure. */
  sawForkFailure(): boolean;
  /** Frees the space of the output, for a run that has no result because it exceeded a limit. */
  dropOutput(): void;
  /** Appends the lines to the log, even if earlier writes failed, and syncs both files as far as there is space. */
  close(lines: readonly string[]): void;
}

interface OutputStreams {
  readonly stdout: Socket;
  readonly stderr: Socket;
}

export interface Greeting {
  readonly text: string;
  /** Called once: whether the output began with the greeting. */
  readonly onGreeting: (isRight: boolean) => void;
}

type FileNames = Pick<RunSpec, "outputFile" | "logFile" | "logLimitBytes" | "resources">;

/** Writes the program's output to the disk synchronously, so that nothing accumulates in memory. */
export function openResultFiles(folder: string, spec: FileNames): ResultFiles {
  let report: (reason: EndReason) => void = () => undefined;
  const onFailure = (message: string): void => report({ cause: "disk-full", message, graceMs: 0, dropsOutput: true });
  const output = openFile(spec.outputFile ?? join(folder, fileNames.output), "w", onFailure);
  const log = openFile(spec.logFile ?? join(folder, fileNames.log), "a", onFailure);
  const limitBytes = spec.resources?.outputBytes ?? Infinity;
  const writeOutput = limitSize(limitBytes, output.write, () => report(outputTooLarge(limitBytes)));
  const forkFailure = detectForkFailure();
  const cappedLog = openCappedLog(spec.logLimitBytes, log.write);
  return {
    async collect({ stdout, stderr }, onFailure, greeting) {
      report = onFailure;
      const write = greeting === undefined ? writeOutput : afterGreeting(greeting, writeOutput);
      const writeLog = (chunk: Buffer): void => {
        forkFailure.read(chunk);
        cappedLog.add(chunk);
      };
      await Promise.all([drain(stdout, write), drain(stderr, writeLog)]);
    },
    sawForkFailure: () => forkFailure.isFound(),
    dropOutput: () => output.empty(),
    close(lines) {
      if (lines.length > 0) log.tryAgain();
      cappedLog.end(lines);
      output.close();
      log.close();
    },
  };
}

function outputTooLarge(limitBytes: number): EndReason {
  return { cause: "limit", message: tooMuchOutput(limitBytes), graceMs: 0, dropsOutput: true };
}

function limitSize(
  limitBytes: number,
  write: (bytes: Buffer) => void,
  onExceeded: () => void,
): (bytes: Buffer) => void {
  let left = limitBytes;
  return (bytes) => {
    if (left < 0) return;
    left -= bytes.length;
    if (left < 0) onExceeded();
    else write(bytes);
  };
}

interface ResultFile {
  readonly write: (bytes: Buffer) => void;
  readonly empty: () => void;
  readonly tryAgain: () => void;
  readonly close: () => void;
}

function openFile(path: string, flags: "a" | "w", onFailure: (reason: string) => void): ResultFile {
  const descriptor = openSync(path, flags, 0o600);
  let failed = false;
  const attempt = (work: () => void): void => {
    if (failed) return;
    try {
      work();
    } catch (error) {
      failed = true;
      onFailure(`${basename(path)} cannot be written: ${describe(error)}`);
    }
  };
  return {
    write: (bytes) => attempt(() => writeAll(descriptor, bytes)),
    empty: () => ftruncateSync(descriptor),
    tryAgain: () => {
      failed = false;
    },
    close: () => {
      attempt(() => fsyncSync(descriptor));
      closeSync(descriptor);
    },
  };
}

function afterGreeting({ text, onGreeting }: Greeting, write: (bytes: Buffer) => void): (bytes: Buffer) => void {
  let first: Buffer | undefined = Buffer.alloc(0);
  return (bytes) => {
    if (first === undefined) return write(bytes);
    first = Buffer.concat([first, bytes]);
    if (first.length < text.length) return;
    const [greeted, rest] = [first.subarray(0, text.length), first.subarray(text.length)];
    first = undefined;
    onGreeting(greeted.toString("latin1") === text);
    if (rest.length > 0) write(rest);
  };
}

async function drain(pipe: Socket, write: (bytes: Buffer) => void): Promise<void> {
  pipe.on("data", write);
  pipe.on("error", () => undefined); // "close" follows in any case
  await new Promise<void>((settle) => pipe.once("close", () => settle()));
}

function writeAll(descriptor: number, bytes: Buffer): void {
  for (let done = 0; done < bytes.length;) done += writeSync(descriptor, bytes, done);
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return isDiskFullError(error) ? "no space left on the disk" : error.message;
}

/**
 * The messages of shells, the JVM and Python when the kernel refuses another process or thread. The text of EAGAIN
 * alone is not enough, because a read from a socket fails with the same; Python names the fork some lines above it.
 */
const FORK_FAILURES =
  /fork[^]{0,400}resource temporarily unavailable|cannot fork|unable to create (new )?native thread|can't start new thread/i;
const TAIL_BYTES = 4096;

/** Searches the standard error of a program. */
interface ForkFailureDetector {
  read(chunk: Buffer): void;
  /** Whether the end of the text reports a fork failure. */
  isFound(): boolean;
}

export function detectForkFailure(): ForkFailureDetector {
  let tail = "";
  return {
    read(chunk) {
      tail = (tail + chunk.subarray(-TAIL_BYTES).toString("latin1")).slice(-TAIL_BYTES);
    },
    isFound: () => FORK_FAILURES.test(tail),
  };
}
