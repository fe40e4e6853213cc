/**
 * Finds in the log of a driver why its program failed, for people who see only one line of it. A log is what the program
 * has written, so nothing in it is trusted: the reason is bounded, and without control characters.
 */

const MAX_CHARACTERS = 500;
/** Longer lines are cut, because the patterns below need more than linear time in the length of a line. */
const MAX_LINE = 2000;

/** Lines of Spark's own log, in either of its forms. */
const SPARK_LINE = /^(?:\d\d\/\d\d\/\d\d \d\d:\d\d:\d\d [A-Z]+ |\{"ts":)/;

/** Exit codes of Spark, of the shell, and of signals inside a sandbox (128 + signal). */
const EXIT_CODES: Readonly<Record<number, string>> = {
  50: "an exception was not caught",
  51: "an exception was not caught, and another one followed",
  52: "Java ran out of memory",
  101: "the main class was not found",
  126: "a program could not be executed",
  127: "a program was not found",
  134: "aborted",
  137: "killed",
  139: "a native library crashed",
  143: "ended by SIGTERM",
};

/** `logTail`: the last part of the log, which has the reason and the shutdown of Spark. */
export function describeFailure(exitCode: number, logTail: string): string {
  const reason = failureReason(logTail);
  if (reason !== undefined) return `${reason}; exit code ${exitCode}`;
  const meaning = EXIT_CODES[exitCode];
  return meaning === undefined ? `exit code ${exitCode}` : `exit code ${exitCode}: ${meaning}`;
}

/** Undefined: nothing in the log looks like the end of a program. */
function failureReason(tail: string): string | undefined {
  const lines = tail
    .split("\n")
    .filter((line) => !SPARK_LINE.test(line))
    .map((line) => line.slice(0, MAX_LINE));
  const found = outOfMemory(lines) ?? latest(FORMS.map((form) => form(lines)));
  return found === undefined ? undefined : oneLine(found.text, found.line);
}

interface Found {
  /** Where the text is in the log: the later one has ended the program. */
  readonly at: number;
  readonly text: string;
  /** The line of the program, such as `line 3`. */
  readonly line?: string | undefined;
}

type Form = (lines: readonly string[]) => Found | undefined;

const FORMS: readonly Form[] = [
  pythonException,
  pythonSyntaxError,
  javaException,
  scalaError,
  rError,
  sparkSubmitError,
];

/** Whatever the program reports after it, this is the cause. */
function outOfMemory(lines: readonly string[]): Found | undefined {
  const at = lines.findLastIndex((line) => /\bjava\.lang\.OutOfMemoryError\b/.test(line));
  const [, text] = /\bjava\.lang\.(OutOfMemoryError(?:: .*)?)$/.exec(lines[at] ?? "") ?? [];
  return text === undefined ? undefined : { at, text };
}

const TRACEBACK = "Traceback (most recent call last):";

/** The last traceback. One of a task is inside the Java exception that it has caused, and follows that of the driver. */
function pythonException(lines: readonly string[]): Found | undefined {
  const at = lines.findLastIndex((line) => line.endsWith(TRACEBACK));
  if (at === -1) return undefined;
  const end = lines.findIndex((line, index) => index > at && line !== "" && !line.startsWith(" "));
  const exception = lines[end];
  if (exception === undefined) return undefined;
  const frames = lines
    .slice(at, end)
    .map(frameOf)
    .filter((frame) => frame !== undefined);
  const ofJava = /^py4j\.protocol\.Py4JJavaError\b/.test(exception) ? lines[end + 1]?.replace(/^: /, "") : undefined;
  return { at: end, text: withShortName(ofJava ?? exception), line: frames.findLast(isOfProgram)?.text };
}

/** It has no traceback, because the program never began. */
function pythonSyntaxError(lines: readonly string[]): Found | undefined {
  const at = lines.findLastIndex((line) => /^(?:Syntax|Indentation|Tab)Error: /.test(line));
  if (at === -1) return undefined;
  const frame = lines
    .slice(Math.max(0, at - 5), at)
    .map(frameOf)
    .findLast((each) => each !== undefined);
  return { at, text: lines[at] ?? "", line: frame?.text };
}

interface Frame {
  readonly file: string;
  readonly text: string;
}

function frameOf(line: string): Frame | undefined {
  const [, file, number] = /^ {2}File "([^"]*)", line (\d{1,9})/.exec(line) ?? [];
  if (file === undefined || number === undefined) return undefined;
  const name = file.slice(file.lastIndexOf("/") + 1);
  return { file, text: name === "program.py" ? `line ${number}` : `${name}, line ${number}` };
}

/** Spark's own code is in archives, and installed packages are in folders of this name. */
function isOfProgram({ file }: Frame): boolean {
  return !/\.zip\/|\/(?:site|dist)-packages\/|\/lib\/python\d|^</.test(file);
}

/** These say only that another exception has ended the program. */
const WRAPPERS = new Set(["SparkException", "InvocationTargetException", "ExecutionException"]);

function javaException(lines: readonly string[]): Found | undefined {
  const at = lines.findLastIndex((line) => /^Exception in thread "[^"]*" [\w.$]+/.test(line));
  const [, first] = /^Exception in thread "[^"]*" (.*)$/.exec(lines[at] ?? "") ?? [];
  if (first === undefined) return undefined;
  const trace = lines.slice(
    at + 1,
    lines.findIndex((line, index) => index > at && !/^\s|^Caused by: |^$/.test(line)),
  );
  const cause = trace.findLast((line) => line.startsWith("Caused by: "))?.slice("Caused by: ".length);
  const [name = ""] = withShortName(first).split(":");
  const [, line] =
    /\(program\.scala:(\d{1,9})\)/.exec(trace.find((each) => each.includes("(program.scala:")) ?? "") ?? [];
  return {
    at,
    text: withShortName(WRAPPERS.has(name) && cause !== undefined ? cause : first),
    line: line === undefined ? undefined : `line ${line}`,
  };
}

/** The first error of the compiler; others often follow from it. */
function scalaError(lines: readonly string[]): Found | undefined {
  const at = lines.findIndex((line) => /^program\.scala:\d{1,9}: error: /.test(line));
  const [, number, text] = /^program\.scala:(\d{1,9}): error: (.*)$/.exec(lines[at] ?? "") ?? [];
  return text === undefined ? undefined : { at, text: `it does not compile: ${text}`, line: `line ${number}` };
}

function rError(lines: readonly string[]): Found | undefined {
  const at = lines.findLastIndex((line) => /^Error in .*:\s*/.test(line));
  const [, where, text] = /^Error in (.{0,200}?) ?:\s*(.*)$/.exec(lines[at] ?? "") ?? [];
  if (text === undefined) return undefined;
  return { at, text: `Error in ${where}: ${text === "" ? (lines[at + 1] ?? "").trim() : text}` };
}

function sparkSubmitError(lines: readonly string[]): Found | undefined {
  const at = lines.findLastIndex((line) => line.startsWith("Error: "));
  return at === -1 ? undefined : { at, text: lines[at] ?? "" };
}

function latest(found: readonly (Found | undefined)[]): Found | undefined {
  return found.filter((each) => each !== undefined).toSorted((one, other) => other.at - one.at)[0];
}

/** `org.apache.spark.sql.AnalysisException: …` becomes `AnalysisException: …`. */
function withShortName(exception: string): string {
  return exception.replace(/^(?:[\w$]+\.)+(?=[A-Za-z_$]\w*(?::|$))/, "");
}

function oneLine(text: string, line: string | undefined): string {
  const plain = text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, " ").trim();
  const short = plain.length <= MAX_CHARACTERS ? plain : `${plain.slice(0, MAX_CHARACTERS)}…`;
  return line === undefined ? short : `${short} (${line})`;
}
