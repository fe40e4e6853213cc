/**
 * Finds in the log of a driver why its program failed, for users who see only one line. A log is what the program has
 * written, so nothing in it is trusted: the reason is bounded, and without control characters.
 */
import { withFormatHint } from "../table-formats/missing-format.ts";
import { EXIT_CODES, FIRST_SIGNAL, LAST_SIGNAL, NO_MAIN_CLASS, OUT_OF_MEMORY } from "./exit-codes.ts";

const MAX_CHARACTERS = 500;
/** The limit for the name and line of the program's file, within the characters above. */
const MAX_POSITION_CHARACTERS = 100;
/** Longer lines are cut, because the patterns below need more than linear time in the length of a line. */
const MAX_LINE_LENGTH = 2000;
const MAX_LOG_LINES = 2000;

/** Lines of Spark's own log, in either of its forms. */
const SPARK_LINE = /^(?:\d\d\/\d\d\/\d\d \d\d:\d\d:\d\d [A-Z]+ |\{"ts":)/;

/**
 * `logTail`: the last part of the log, which has the reason and the shutdown of Spark. `onMissingPackage`: what to do if
 * the program lacked one of the Python packages that the set-up brings.
 */
export function describeFailure(
  exitCode: number,
  logTail: string,
  onMissingPackage: () => string | undefined = () => undefined,
): string {
  const meaning = EXIT_CODES[exitCode];
  const code = meaning === undefined ? `exit code ${exitCode}` : `exit code ${exitCode}: ${meaning}`;
  // A program that was ended by a signal may have handled the exceptions in its log.
  const isSignal = exitCode >= FIRST_SIGNAL && exitCode <= LAST_SIGNAL;
  const reason = isSignal ? undefined : failureReason(logTail, exitCode);
  if (reason === undefined) return code;
  const advice = MISSING_PACKAGE.test(reason) ? onMissingPackage() : undefined;
  return [withFormatHint(reason), ...(advice === undefined ? [] : [advice]), code].join("; ");
}

/** Python's message and that of PySpark. */
const MISSING_PACKAGE =
  /\bNo module named '(?:numpy|pandas|pyarrow|dateutil|pytz|six|tzdata)\b|\b(?:NumPy|Pandas|PyArrow) >= [\d.]{1,20} must be installed/;

/** Undefined: nothing in the log looks like the end of a program. */
function failureReason(tail: string, exitCode: number): string | undefined {
  const all = tail
    .split(/\r?\n/)
    .slice(-MAX_LOG_LINES)
    .map((line) => line.slice(0, MAX_LINE_LENGTH));
  const lines = all.filter((line) => !SPARK_LINE.test(line));
  const found =
    outOfMemory(lines, exitCode) ??
    missingJar(all, exitCode) ??
    latest(FORMS.map((form) => form(lines))) ??
    exceptionInThread(lines, ANY_THREAD) ??
    sparkSubmitError(lines) ??
    lastWords(all, exitCode);
  if (found === undefined) return undefined;
  const line = found.line === undefined ? "" : ` (${oneLine(found.line, MAX_POSITION_CHARACTERS)})`;
  const text = oneLine(found.text, MAX_CHARACTERS - line.length);
  // A cut may have divided a surrogate pair.
  return text === "" ? undefined : `${text}${line}`.toWellFormed();
}

interface Found {
  /** The index of its line in the log. The latest one has ended the program. */
  readonly at: number;
  readonly text: string;
  /** The line of the program, such as `line 3`. */
  readonly line?: string | undefined;
}

type Form = (lines: readonly string[]) => Found | undefined;

/**
 * Each of these ends a program. If the log has none, it was an exception in another thread, or an error of spark-submit;
 * otherwise such lines are noise of the shutdown, or the program has written them itself.
 */
const FORMS: readonly Form[] = [
  pythonException,
  pythonSyntaxError,
  (lines) => exceptionInThread(lines, MAIN_THREAD),
  scalaError,
  scalaStatement,
  rError,
];

/**
 * After Java runs out of memory, Python reports only that the connection is lost. Without that, the program may have
 * caught the error.
 */
function outOfMemory(lines: readonly string[], exitCode: number): Found | undefined {
  const at = lines.findLastIndex((line) => /\bjava\.lang\.OutOfMemoryError\b/.test(line));
  const [, text] = /\bjava\.lang\.(OutOfMemoryError(?:: .*)?)$/.exec(lines[at] ?? "") ?? [];
  const isCause = exitCode === OUT_OF_MEMORY || lines.slice(at).some((line) => line.startsWith("py4j.protocol."));
  return text === undefined || !isCause ? undefined : { at, text };
}

const FAILED_STATEMENT = "headgate: ended by the statement in line ";
const TRACEBACK = "Traceback (most recent call last):";

/** The head of the traceback of an exception group, whose lines all begin with `GROUP_MARGIN`. */
const GROUP_TRACEBACK = `  + Exception Group ${TRACEBACK}`;
const GROUP_MARGIN = "  | ";
const EXCEPTION = /^[A-Za-z_][\w.<>]*(?::|$)/;

/** The last complete traceback. That of a task is inside the Java exception, after the driver's. */
function pythonException(lines: readonly string[]): Found | undefined {
  // Each search ends where the previous one began, so that all of them together read the log once.
  for (let at = lines.length - 1, next = lines.length; at >= 0; at -= 1) {
    const margin = marginOfTraceback(lines, at);
    if (margin === undefined) continue;
    const found = exceptionOf(lines.slice(at + 1, next), margin);
    if (found !== undefined) return { ...found, at: at + 1 + found.at };
    next = at;
  }
  return undefined;
}

/** Undefined: the line is not the head of a traceback. */
function marginOfTraceback(lines: readonly string[], at: number): string | undefined {
  const line = lines[at] ?? "";
  if (!line.endsWith(TRACEBACK) || (lines[at - 1] ?? "").startsWith("Exception ignored in")) return undefined;
  if (line === GROUP_TRACEBACK) return GROUP_MARGIN;
  return line === TRACEBACK || line.endsWith(`: ${TRACEBACK}`) ? "" : undefined;
}

/** `rest`: the lines after the head. The first one that is not indented has the exception. */
function exceptionOf(rest: readonly string[], margin: string): Found | undefined {
  const lines = margin === "" ? rest : rest.map((line) => (line.startsWith(margin) ? line.slice(margin.length) : ""));
  const at = lines.findIndex((line) => line !== "" && !line.startsWith(" "));
  const exception = lines[at];
  if (exception === undefined || !EXCEPTION.test(exception)) return undefined;
  const frames = lines
    .slice(0, at)
    .map(frameOf)
    .filter((frame) => frame !== undefined);
  const ofJava = /^py4j\.protocol\.Py4JJavaError\b/.test(exception) ? javaCause(lines, at + 1).text : "";
  const text = ofJava === "" ? withMessage(lines, at) : ofJava;
  return { at, text: withShortName(text), line: frames.findLast(isOfProgram)?.text };
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

function exceptionInThread(lines: readonly string[], thread: RegExp): Found | undefined {
  const at = lines.findLastIndex((line) => thread.test(line));
  if (at === -1) return undefined;
  const { text, trace } = javaCause(lines, at);
  const frame = trace.find((line) => line.includes("(program.scala:"));
  const [, number] = /\(program\.scala:(\d{1,9})\)/.exec(frame ?? "") ?? [];
  return { at, text: withShortName(text), line: number === undefined ? undefined : `line ${number}` };
}

const ANY_THREAD = /^Exception in thread "[^"]*" (?=[\w.$]+)/;
const MAIN_THREAD = /^Exception in thread "main" (?=[\w.$]+)/;
const CAUSED_BY = "Caused by: ";

/** The exception at the line, or its last cause if it is a wrapper, and the lines after it up to its last frame. */
function javaCause(lines: readonly string[], at: number): { text: string; trace: readonly string[] } {
  const text = withMessage(lines, at).replace(ANY_THREAD, "").replace(/^: /, "");
  // The message of the exception may have several lines.
  const end = lines.findLastIndex((line, index) => index > at && (/^\s+at /.test(line) || line.startsWith(CAUSED_BY)));
  const [name = ""] = withShortName(text).split(":");
  const cause = WRAPPERS.has(name)
    ? lines.findLastIndex((line, index) => index > at && index <= end && line.startsWith(CAUSED_BY))
    : -1;
  if (cause === -1) return { text, trace: lines.slice(at + 1, end + 1) };
  return { text: withMessage(lines, cause).slice(CAUSED_BY.length), trace: lines.slice(cause + 1, end + 1) };
}

/** The line of an exception. The messages of Spark's parser begin on the next line. */
function withMessage(lines: readonly string[], at: number): string {
  const line = lines[at] ?? "";
  if (!/:\s*$/.test(line)) return line;
  const message = lines.slice(at + 1).find((each) => each.trim() !== "");
  return `${line.trimEnd()} ${message?.trim() ?? ""}`;
}

/** The first error of the compiler; others often follow from it. */
function scalaError(lines: readonly string[]): Found | undefined {
  const at = lines.findIndex((line) => /^program\.scala:\d{1,9}: error: /.test(line));
  const [, number, text] = /^program\.scala:(\d{1,9}): error: (.*)$/.exec(lines[at] ?? "") ?? [];
  return text === undefined ? undefined : { at, text: doesNotCompile(lines, at, text), line: `line ${number}` };
}

/** The compiler writes types that do not match into the next lines. */
function doesNotCompile(lines: readonly string[], at: number, text: string): string {
  const types = lines.slice(at + 1, at + 3).flatMap((line) => {
    const [, role, type] = /^ {1,20}(found|required) {0,5}: (.*)$/.exec(line) ?? [];
    return role === undefined || type === undefined ? [] : [`${role} ${type}`];
  });
  return `it does not compile: ${text}${types.length === 0 ? "" : ` ${types.join(", ")}`}`;
}

/** Our own class reports which statement has failed, after the exception or the error of the compiler. */
function scalaStatement(lines: readonly string[]): Found | undefined {
  const at = lines.findLastIndex((line) => line.startsWith(FAILED_STATEMENT));
  if (at === -1) return undefined;
  const before = lines.slice(0, at);
  const line = `line ${lines[at]?.slice(FAILED_STATEMENT.length)}`;
  const compiler = before.findLastIndex((each, index) => compilerError(each, before[index - 1]) !== undefined);
  const exception = before.findLastIndex((each) => /^(?:[a-z]\w*\.){1,20}[A-Z][\w$]{0,200}(?::|$)/.test(each));
  if (compiler > exception) {
    const { text = "", number } = compilerError(before[compiler] ?? "", before[compiler - 1]) ?? {};
    const position = number === undefined ? line : `line ${number}`;
    return { at, text: doesNotCompile(before, compiler, text), line: position };
  }
  if (exception === -1) return undefined;
  return { at, text: withShortName(withMessage(before, exception)), line };
}

/** The compiler gives no number for a statement of one line, and marks the position above the error instead. */
function compilerError(line: string, previous = ""): { text: string; number?: string } | undefined {
  const [, number, text] = /\bline (\d{1,9}): error: (.*)$/.exec(line) ?? [];
  if (number !== undefined && text !== undefined) return { text, number };
  const [, marked] = /^ *\^$/.test(previous) ? (/^ *error: (.*)$/.exec(line) ?? []) : [];
  return marked === undefined ? undefined : { text: marked };
}

/** R separates the call, which may contain colons, by ` : `. */
function rError(lines: readonly string[]): Found | undefined {
  const at = lines.findLastIndex((line) => /^Error in .* :(?: |$)/.test(line));
  if (at === -1) return undefined;
  return { at, text: withMessage(lines, at).replace(/ : ?/, ": ") };
}

function sparkSubmitError(lines: readonly string[]): Found | undefined {
  const at = lines.findLastIndex((line) => line.startsWith("Error: "));
  return at === -1 ? undefined : { at, text: lines[at] ?? "" };
}

/** Spark only warns about a jar that is missing, then fails to find the class in it. The program's own jar comes first. */
function missingJar(all: readonly string[], exitCode: number): Found | undefined {
  if (exitCode !== NO_MAIN_CLASS) return undefined;
  const at = all.findIndex((line) => MISSING_JAR.test(line));
  const [, jar] = MISSING_JAR.exec(all[at] ?? "") ?? [];
  return jar === undefined ? undefined : { at, text: `the jar ${jar} does not exist` };
}

const MISSING_JAR = / WARN DependencyUtils: Local jar (.+) does not exist, skipping/;

/**
 * The text of Python's `sys.exit`, or what an interpreter says about a program that it cannot start. Nothing but its
 * position at the end of the log identifies it. An exit code with a meaning of its own says more than the last line.
 */
function lastWords(all: readonly string[], exitCode: number): Found | undefined {
  if (EXIT_CODES[exitCode] !== undefined) return undefined;
  const at = all.findLastIndex((line) => line.trim() !== "");
  const line = all[at];
  if (line === undefined || SPARK_LINE.test(line) || NOT_OF_PROGRAM.test(line)) return undefined;
  return { at, text: line.replace(/^headgate: /, "").replace(/^\S*python[\d.]*: (?=can't open file )/, "") };
}

/** The rest of a message or stack trace, warnings of Java, and our notes on ignored settings. */
const NOT_OF_PROGRAM = /^(?:\s|Caused by: |WARNING: |headgate: .* set by the server: ignored$)/;

function latest(found: readonly (Found | undefined)[]): Found | undefined {
  return found.filter((each) => each !== undefined).toSorted((one, other) => other.at - one.at)[0];
}

/** `org.apache.spark.sql.AnalysisException: …` becomes `AnalysisException: …`. */
function withShortName(exception: string): string {
  return exception.replace(/^(?:[\w$<>]+\.)+(?=[A-Za-z_$]\w*(?::|$))/, "");
}

function oneLine(text: string, maxCharacters: number): string {
  const plain = text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, " ").trim();
  return plain.length <= maxCharacters ? plain : `${plain.slice(0, maxCharacters)}…`;
}
