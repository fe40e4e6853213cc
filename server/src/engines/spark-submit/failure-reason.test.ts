import { describe, expect, test } from "vitest";
import { describeFailure } from "./failure-reason.ts";

/** The texts are from real logs, without most of their lines. */
const LIBRARY = '  File "/cache/spark/python/lib/pyspark.zip/pyspark/errors/exceptions/captured.py", line 269, in deco';
const FAILED_STATEMENT = "headgate: ended by the statement in line 3\n";
const SHUTDOWN = "26/11/18 12:23:28 INFO SparkContext: Successfully stopped SparkContext (Uptime: 9095 ms)\n";

test.each([
  ["ModuleNotFoundError: No module named 'pandas'", true],
  ["ModuleNotFoundError: No module named 'pyarrow.lib'; 'pyarrow' is not a package", true],
  ["[PACKAGE_NOT_INSTALLED] PyArrow >= 15.0.0 must be installed; however, it was not found.", true],
  ["ModuleNotFoundError: No module named 'pandas_gbq'", false],
  ["ModuleNotFoundError: No module named 'scipy'", false],
])("a program that ends with %j lacked a package of the set-up: %j", (line, isMissing) => {
  const log = `Traceback (most recent call last):\n  File "/in/program.py", line 3, in <module>\n${line.replace(/^\[/, "PySparkImportError: [")}\n`;
  const text = describeFailure(1, log, () => "wait");
  expect(text.endsWith("(line 3); wait; exit code 1"), text).toBe(isMissing);
});

describe("the reason of a failed program", () => {
  test.each<[what: string, log: string, reason: string]>([
    [
      "a Python exception, with the innermost line of the program",
      `Traceback (most recent call last):
  File "/headgate/input/program.py", line 6, in <module>
    f()
  File "/headgate/input/program.py", line 5, in f
    spark.sql("select * from missing_t").show()
    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
${LIBRARY}
pyspark.errors.exceptions.captured.AnalysisException: [TABLE_OR_VIEW_NOT_FOUND] The table cannot be found.
If you did not qualify the name with a schema, verify the current_schema() output.
'Project [*]

${SHUTDOWN}`,
      "AnalysisException: [TABLE_OR_VIEW_NOT_FOUND] The table cannot be found. (line 5)",
    ],
    [
      "the last of several Python exceptions",
      `Traceback (most recent call last):
  File "/headgate/input/program.py", line 2, in <module>
    1/0
ZeroDivisionError: division by zero

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/headgate/work/etl.py", line 4, in load
    raise RuntimeError("it failed\\nsecond line")
RuntimeError: it failed
second line
`,
      "RuntimeError: it failed (etl.py, line 4)",
    ],
    [
      "an exception in a task instead of the Java exception around it",
      `Traceback (most recent call last):
  File "/headgate/input/program.py", line 3, in <module>
    print(rdd.collect())
${LIBRARY}
py4j.protocol.Py4JJavaError: An error occurred while calling z:org.apache.spark.api.python.PythonRDD.collectAndServe.
: org.apache.spark.SparkException: Job aborted due to stage failure: Task 1 in stage 0.0 failed 1 times
\tat org.apache.spark.scheduler.DAGScheduler.abortStage(DAGScheduler.scala:2911)
Caused by: org.apache.spark.api.python.PythonException: Traceback (most recent call last):
  File "/cache/spark/python/lib/pyspark.zip/pyspark/worker.py", line 3386, in main
    process()
  File "/headgate/input/program.py", line 2, in <lambda>
    rdd = rdd.map(lambda x: 1/x)
ZeroDivisionError: division by zero

\tat org.apache.spark.api.python.BasePythonRunner.handlePythonException(PythonRunner.scala:581)
\t... 1 more

${SHUTDOWN}`,
      "ZeroDivisionError: division by zero (line 2)",
    ],
    [
      "a Java exception that Python has called",
      `Traceback (most recent call last):
  File "/headgate/input/program.py", line 3, in <module>
    df.write.save("x")
py4j.protocol.Py4JJavaError: An error occurred while calling o52.save.
: org.apache.hadoop.fs.UnsupportedFileSystemException: No FileSystem for scheme "s4"
\tat org.apache.hadoop.fs.FileSystem.getFileSystemClass(FileSystem.java:3585)
`,
      'UnsupportedFileSystemException: No FileSystem for scheme "s4" (line 3)',
    ],
    [
      "the cause of a Java exception that Python has called",
      `Traceback (most recent call last):
  File "/headgate/input/program.py", line 3, in <module>
    df.write.save("x")
py4j.protocol.Py4JJavaError: An error occurred while calling o52.save.
: org.apache.spark.SparkException: Job aborted due to stage failure.
\tat org.apache.spark.Scheduler.abort(Scheduler.scala:3585)
Caused by: java.io.IOException: No space left on device
\tat java.io.FileOutputStream.write(FileOutputStream.java:1)
`,
      "IOException: No space left on device (line 3)",
    ],
    [
      "a syntax error of SQL, whose message begins on the next line",
      `Traceback (most recent call last):
  File "/headgate/input/program.py", line 3, in <module>
    spark.sql("selct 1")
pyspark.errors.exceptions.captured.ParseException:${" "}
[PARSE_SYNTAX_ERROR] Syntax error at or near 'selct'. SQLSTATE: 42601 (line 1, pos 0)

== SQL ==
selct 1
^^^
`,
      "ParseException: [PARSE_SYNTAX_ERROR] Syntax error at or near 'selct'. SQLSTATE: 42601 (line 1, pos 0) (line 3)",
    ],
    [
      "a message that is cut, with the line of the program",
      `Traceback (most recent call last):
  File "/headgate/input/program.py", line 3, in <module>
ValueError: ${"x".repeat(600)}
`,
      `ValueError: ${"x".repeat(479)}… (line 3)`,
    ],
    [
      "a syntax error of Python",
      `WARNING: Using incubator modules: jdk.incubator.vector
  File "/headgate/input/program.py", line 1
    x = (
        ^
SyntaxError: '(' was never closed
`,
      "SyntaxError: '(' was never closed (line 1)",
    ],
    [
      "a Scala exception, with the line of the program",
      `Exception in thread "main" org.apache.spark.sql.AnalysisException: [PATH_NOT_FOUND] Path does not exist: file:/x.
\tat org.apache.spark.sql.errors.QueryCompilationErrors$.dataPathNotExistError(QueryCompilationErrors.scala:1635)
\tat Main$.main(program.scala:3)
\tSuppressed: org.apache.spark.util.Utils$OriginalTryStackTraceException: Full stacktrace
\t\t... 36 more
26/11/18 12:26:36 ERROR Utils: Uncaught exception in thread shutdown-hook-0
java.lang.ExceptionInInitializerError
${SHUTDOWN}`,
      "AnalysisException: [PATH_NOT_FOUND] Path does not exist: file:/x. (line 3)",
    ],
    [
      "the cause of a SparkException",
      `Exception in thread "main" org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 failed
\tat Main$.main(program.scala:7)
Caused by: java.lang.ArithmeticException: / by zero
\tat Main$.$anonfun$main$1(program.scala:5)
`,
      "ArithmeticException: / by zero (line 5)",
    ],
    [
      "the cause of a failed task, although the message of the exception around it has several lines",
      `Exception in thread "main" org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 failed
java.lang.ArithmeticException: / by zero
\tat Main$.$anonfun$main$1(program.scala:5)

Driver stacktrace:
\tat org.apache.spark.scheduler.DAGScheduler.abortStage(DAGScheduler.scala:2911)
\tat Main$.main(program.scala:7)
Caused by: java.lang.ArithmeticException: / by zero
\tat Main$.$anonfun$main$1(program.scala:5)`,
      "ArithmeticException: / by zero (line 5)",
    ],
    [
      "an exception of a Scala statement",
      `org.apache.spark.sql.AnalysisException: [TABLE_OR_VIEW_NOT_FOUND] The table cannot be found.
If you did not qualify the name with a schema, verify the current_schema() output.
  at org.apache.spark.sql.catalyst.analysis.package$AnalysisErrorAt.tableNotFound(package.scala:91)
  ... 33 elided
headgate: ended by the statement in line 3
`,
      "AnalysisException: [TABLE_OR_VIEW_NOT_FOUND] The table cannot be found. (line 3)",
    ],
    [
      "a Scala statement that does not compile",
      'On line 4: error: type mismatch;\n found   : String("text")\nheadgate: ended by the statement in line 3\n',
      'it does not compile: type mismatch; found String("text") (line 4)',
    ],
    [
      "a Scala statement of one line that does not compile",
      `                    ^
       error: type mismatch;
        found   : String("a")
        required: Int
headgate: ended by the statement in line 2
`,
      'it does not compile: type mismatch; found String("a"), required Int (line 2)',
    ],
    [
      "an exception of a Scala statement whose message has a line like those of the compiler",
      "java.io.IOException: no input\n  error: none\nheadgate: ended by the statement in line 3\n",
      "IOException: no input (line 3)",
    ],
    [
      "not an exception that Python ignored",
      `Traceback (most recent call last):
  File "/headgate/input/program.py", line 2, in <module>
    1/0
ZeroDivisionError: division by zero
Exception ignored in: <function A.__del__ at 0x7f>
Traceback (most recent call last):
  File "/headgate/input/program.py", line 9, in __del__
    self.close()
AttributeError: close
`,
      "ZeroDivisionError: division by zero (line 2)",
    ],
    [
      "not an error of memory that the program has caught",
      `java.lang.OutOfMemoryError: Java heap space\n${SHUTDOWN}Error: no rows today\n`,
      "Error: no rows today",
    ],
    [
      "the first error of the Scala compiler",
      'program.scala:2: error: type mismatch;\n found   : String("a")\n val x: Int = "a"\n1 error\n',
      'it does not compile: type mismatch; found String("a") (line 2)',
    ],
    [
      "Java out of memory, whatever Python reports after it",
      `Exception in thread "Thread-4" java.lang.OutOfMemoryError: Java heap space
\tat java.base/java.util.Arrays.copyOf(Arrays.java:3537)
Traceback (most recent call last):
  File "/headgate/input/program.py", line 7, in <module>
    b.append(b.toString())
py4j.protocol.Py4JError: An error occurred while calling o52.toString
`,
      "OutOfMemoryError: Java heap space",
    ],
    [
      "an error of R",
      'Error in read.csv("x.csv") :\n  cannot open file\nExecution halted\n',
      'Error in read.csv("x.csv"): cannot open file',
    ],
    [
      "an error of spark-submit",
      "26/11/18 12:26:41 WARN DependencyUtils: Local jar /x.jar does not exist.\nError: Failed to load class A.\n",
      "Error: Failed to load class A.",
    ],
    [
      "the first line of a group of Python exceptions",
      `  + Exception Group Traceback (most recent call last):
  |   File "/headgate/input/program.py", line 4, in <module>
  |     raise ExceptionGroup("several", errors)
  | ExceptionGroup: several (2 sub-exceptions)
  +-+---------------- 1 ----------------
    | Traceback (most recent call last):
    |   File "/headgate/input/program.py", line 2, in <module>
    |     1/0
    | ZeroDivisionError: division by zero
    +---------------- 2 ----------------
    | ValueError: no
    +------------------------------------
unrelated: last line
`,
      "ExceptionGroup: several (2 sub-exceptions) (line 4)",
    ],
    [
      "an exception of a local class",
      `Traceback (most recent call last):\n  File "program.py", line 4, in <module>\n__main__.load.<locals>.NoRows\n`,
      "NoRows (line 4)",
    ],
    [
      "not a line after a traceback that was cut",
      `Traceback (most recent call last):
  File "/headgate/input/program.py", line 2, in <module>
ValueError: no rows
last Traceback (most recent call last):
no exception here
Traceback (most recent call last):
  File "/headgate/input/program.py", line 3, in <module>
3 rows written: no exception
`,
      "ValueError: no rows (line 2)",
    ],
    [
      "the exception, not what the program says after it",
      `Traceback (most recent call last):
  File "/headgate/input/program.py", line 2, in <module>
ValueError: no rows
Error: cleanup failed
`,
      "ValueError: no rows (line 2)",
    ],
    [
      "the exception, not another one in a thread that ended with the program",
      `Traceback (most recent call last):
  File "/headgate/input/program.py", line 2, in <module>
ValueError: no rows
Exception in thread "stdout writer for python3" java.lang.AssertionError: assertion failed
\tat scala.Predef$.assert(Predef.scala:1)
`,
      "ValueError: no rows (line 2)",
    ],
    [
      "an exception in another thread if there is nothing else",
      `Exception in thread "loader" java.lang.IllegalStateException: closed\n\tat A.b(A.java:1)\nError: it failed\n`,
      "IllegalStateException: closed",
    ],
    [
      "Py4J's exception if the log ends before that of Java",
      `Traceback (most recent call last):
  File "/headgate/input/program.py", line 3, in <module>
py4j.protocol.Py4JJavaError: An error occurred while calling o52.save.`,
      "Py4JJavaError: An error occurred while calling o52.save. (line 3)",
    ],
    [
      "the text of sys.exit",
      "WARNING: Using incubator modules: jdk.incubator.vector\n26/11/18 12:26:41 INFO SparkContext: OS\nno input for 2026-11-15\n",
      "no input for 2026-11-15",
    ],
    [
      "what our Scala runner says",
      "WARNING: Using incubator modules: jdk.incubator.vector\nheadgate: nothing to run: there is no main method in B\n",
      "nothing to run: there is no main method in B",
    ],
    [
      "a program that Python cannot open",
      "/usr/bin/python3.12: can't open file '/tmp/missing.py': [Errno 2] No such file or directory\n",
      "can't open file '/tmp/missing.py': [Errno 2] No such file or directory",
    ],
    [
      "found in a log with Windows' line ends",
      'Traceback (most recent call last):\r\n  File "program.py", line 3, in f\r\nValueError: no\r\n',
      "ValueError: no (line 3)",
    ],
  ])("is %s", (_, log, reason) => {
    expect(describeFailure(1, log)).toBe(`${reason}; exit code 1`);
  });

  test.each([
    [3, "exit code 3"],
    [52, "exit code 52: Java ran out of memory: raise --driver-memory or collect less"],
    [56, "exit code 56: Spark lost the connection to its driver, perhaps because the machine stalled: run it again"],
    [101, "exit code 101: the main class was not found"],
    [137, "exit code 137: killed"],
  ])("is the exit code %i if the log has none", (exitCode, expected) => {
    expect(describeFailure(exitCode, `no input given\n${SHUTDOWN}`)).toBe(expected);
    expect(describeFailure(exitCode, "")).toBe(expected);
  });

  test("is the jar of the main class if that is missing", () => {
    const missing = (jar: string): string =>
      `26/11/18 12:26:41 WARN DependencyUtils: Local jar ${jar} does not exist, skipping.\n`;
    const log = `${missing("/x.jar")}${missing("/y.jar")}26/11/18 12:26:42 ERROR SparkSubmit: Failed to load class A.\n`;
    const expected = "the jar /x.jar does not exist; exit code 101: the main class was not found";
    expect(describeFailure(101, log)).toBe(expected);
    expect(describeFailure(101, `${log}Error: Failed to load class A.\n`)).toBe(expected);
    expect(describeFailure(1, log)).toBe("exit code 1");
  });

  test.each([
    ["a warning of Spark", "26/11/18 12:26:41 WARN TaskSetManager: Lost task 0.0"],
    ["a warning of Java", "WARNING: Using incubator modules: jdk.incubator.vector"],
    ["a stack trace", "26/11/18 12:26:41 ERROR Utils: x\njava.lang.IllegalStateException: no\n\tat A.b(A.java:1)"],
    ["a cause", "26/11/18 12:26:41 ERROR Utils: x\nCaused by: java.lang.IllegalStateException: no"],
    ["a note about settings", "headgate: spark.ui.enabled is set by the server: ignored"],
  ])("is not %s at the end of the log", (_, end) => {
    expect(describeFailure(1, `no input\n${end}\n\n`)).toBe("exit code 1");
  });

  test("is the signal that ended it, whatever is in its log", () => {
    const handled = 'Traceback (most recent call last):\n  File "program.py", line 1\nValueError: handled\n';
    expect(describeFailure(137, handled)).toBe("exit code 137: killed");
    expect(describeFailure(255, handled)).toBe("ValueError: handled (line 1); exit code 255");
  });

  test("does not show control characters in the name of a file", () => {
    const name = `/x/a\0\u001b[2J\u202e${"b".repeat(1500)}`;
    const traceback = `Traceback (most recent call last):\n  File "${name}", line 1, in x\nValueError: no\n`;
    expect(describeFailure(1, traceback)).toBe(`ValueError: no (a [2J ${"b".repeat(94)}…); exit code 1`);
  });

  test("has one line of limited length without control characters", () => {
    const hostile = `Error: \u001b[31m\u202e${"x".repeat(5000)}`;
    expect(describeFailure(1, hostile)).toBe(`Error:  [31m ${"x".repeat(487)}…; exit code 1`);
  });

  test("is searched only in the last lines of the log, and in the first characters of a line", () => {
    const traceback = 'Traceback (most recent call last):\n  File "program.py", line 3\nValueError: no\n';
    expect(describeFailure(1, `${traceback}${"x\n".repeat(1900)}`)).toBe("ValueError: no (line 3); exit code 1");
    expect(describeFailure(1, `${traceback}${"x\n".repeat(2100)}`)).toBe("x; exit code 1");
    const compiled = (gap: number): string => `${" ".repeat(gap)}line 4: error: no\n${FAILED_STATEMENT}`;
    expect(describeFailure(1, compiled(1900))).toBe("it does not compile: no (line 4); exit code 1");
    expect(describeFailure(1, compiled(2100))).toBe("ended by the statement in line 3; exit code 1");
  });

  test("has no half of a character", () => {
    const name = `${"a.".repeat(991)}Failed: `; // 1990 characters, which are not shown
    const reason = describeFailure(1, `Traceback (most recent call last):\n${name}${"😀".repeat(20)}\n`);
    expect(reason).toBe(`Failed: ${"😀".repeat(5)}; exit code 1`);
    const odd = describeFailure(1, `Traceback (most recent call last):\n${name}x${"😀".repeat(20)}\n`);
    expect(odd).toBe(`Failed: x${"😀".repeat(4)}\ufffd; exit code 1`);
  });

  /** The largest tail that is read, with as many lines as are looked at. */
  test.each([
    ["heads of tracebacks", "x: Traceback (most recent call last):"],
    ["heads of groups", "  + Exception Group Traceback (most recent call last):"],
    ["tracebacks without an end", 'Traceback (most recent call last):\n  File "program.py", line 1, in f'],
    ["exceptions without a cause", 'Exception in thread "main" org.apache.spark.SparkException:'],
    ["causes", "Caused by: java.lang.OutOfMemoryError: no\n\tat A.b(A.java:1)"],
    ["packages", `Traceback (most recent call last):\n${"a.".repeat(1000)}:`],
    ["colons", `${": ".repeat(1000)}x`],
    ["calls of R", `Error in ${" : ".repeat(600)}x`],
    ["spaces", `${" ".repeat(1999)}x`],
  ])("takes milliseconds to find in a log full of %s", (_, line) => {
    const log = `${line}\n`.repeat(10_000).slice(0, 128 * 1024);
    describeFailure(1, log); // compiles the patterns
    const { user } = process.cpuUsage();
    describeFailure(1, log);
    expect(process.cpuUsage().user - user).toBeLessThan(100_000); // microseconds; it takes a few thousand
  });
});
