import { describe, expect, test } from "vitest";
import { describeFailure } from "./failure-reason.ts";

/** The texts are from real logs, without most of their lines. */
const LIBRARY = '  File "/cache/spark/python/lib/pyspark.zip/pyspark/errors/exceptions/captured.py", line 269, in deco';
const SHUTDOWN = "26/11/18 12:23:28 INFO SparkContext: Successfully stopped SparkContext (Uptime: 9095 ms)\n";

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
      "ArithmeticException: / by zero (line 7)",
    ],
    [
      "the first error of the Scala compiler",
      'program.scala:2: error: type mismatch;\n found   : String("a")\n val x: Int = "a"\n1 error\n',
      "it does not compile: type mismatch; (line 2)",
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
  ])("is %s", (_, log, reason) => {
    expect(describeFailure(1, log)).toBe(`${reason}; exit code 1`);
  });

  test.each([
    [3, "exit code 3"],
    [52, "exit code 52: Java ran out of memory"],
    [101, "exit code 101: the main class was not found"],
    [137, "exit code 137: killed"],
  ])("is the exit code %i if the log has none", (exitCode, expected) => {
    expect(describeFailure(exitCode, `no input given\n${SHUTDOWN}`)).toBe(expected);
    expect(describeFailure(exitCode, "")).toBe(expected);
  });

  test("has one line of limited length without control characters", () => {
    const hostile = `Error: \u001b[31m\u202e${"x".repeat(5000)}`;
    expect(describeFailure(1, hostile)).toBe(`Error:  [31m ${"x".repeat(487)}…; exit code 1`);
  });
});
