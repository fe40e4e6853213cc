import { describe, expect, it } from "vitest";
import { driverCommandLine, statedMemoryMiB, type DriverRun, type SourceProgram } from "./driver-command-line.ts";
import { parseMemoryMiB } from "./setting-values.ts";
import { parseProperties, renderProperties } from "./properties-file.ts";

const run: DriverRun = {
  home: {
    folder: "/spark",
    java: { path: "/java/bin/java", home: "/java" },
    python: { path: "/usr/bin/python3", localPath: "/python/bin/python3" },
    javaArguments: "/launch/java.args",
    classPath: ["/spark/jars/a.jar", "/spark/jars/b.jar"],
    ownJars: { jvm: "/jvm.jar", extra: ["/extra/s3.jar", "/extra/sdk.jar"] },
    driverPython: "/launch/wrappers/python",
    driverR: "/launch/wrappers/R",
    archive: "/launch/classes.jsa",
  },
  program: { kind: "python", file: "/input/program.py", arguments: [], programArguments: ["one", "two words"] },
  classPath: [],
  properties: { "spark.hadoop.fs.s3a.secret.key": "hunter2" },
  propertiesFile: "/input/spark.conf",
  defaultMemoryMiB: 1024,
  applicationId: "command-7-1",
  tags: { command: "7", request: "req-1" },
  eventLogFolder: "/attempt/events",
  scratchFolder: "/attempt/tmp",
  userHome: "/attempt/work",
};

const withArguments = (...words: string[]): DriverRun => ({
  ...run,
  program: { kind: "python", file: "/input/program.py", arguments: words, programArguments: [] },
});
const withCommandLine = (...words: string[]): DriverRun => ({
  ...run,
  program: { kind: "command_line", field: "cmdline", words },
});

describe("a driver's command line", () => {
  it("starts Spark's main class directly, with the archive, and passes each word as an argument", () => {
    const { argv, env } = driverCommandLine(run);
    expect(argv.slice(0, 3)).toEqual(["/java/bin/java", "@/launch/java.args", "-Xmx1024m"]);
    expect(argv).toContain("-XX:SharedArchiveFile=/launch/classes.jsa");
    expect(argv.slice(argv.indexOf("headgate.driver.Driver"))).toEqual([
      "headgate.driver.Driver",
      "--properties-file",
      "/input/spark.conf",
      "--conf",
      "spark.pyspark.driver.python=/launch/wrappers/python",
      "/input/program.py",
      "one",
      "two words",
    ]);
    expect(env).toMatchObject({ SPARK_HOME: "/spark", SPARK_LOCAL_IP: "127.0.0.1", SPARK_SCALA_VERSION: "2.13" });
  });

  it("sets the user's home, which Java may not know, unless the program's options set another", () => {
    const { argv } = driverCommandLine(withArguments("--driver-java-options", "-Duser.home=/elsewhere"));
    const own = argv.indexOf("-Duser.home=/attempt/work");
    expect(own).toBeGreaterThan(0);
    expect(argv.indexOf("-Duser.home=/elsewhere")).toBeGreaterThan(own);
  });

  it("runs Scala on a machine without Python, and refuses a program that needs Python with a remedy", () => {
    const bare = { ...run, home: { ...run.home, python: undefined } };
    const source = { file: "/input/p", arguments: [], programArguments: [] };
    const { env } = driverCommandLine({ ...bare, program: { kind: "scala", ...source } });
    expect(env).not.toHaveProperty("PYSPARK_PYTHON");
    expect(env).not.toHaveProperty("HEADGATE_DRIVER_PYTHON");
    const needing: DriverRun["program"][] = [
      { kind: "python", ...source },
      { kind: "R-by-python", ...source },
      { kind: "command_line", field: "cmdline", words: ["spark-submit", "s3://bucket/job.py"] },
    ];
    for (const program of needing) {
      expect(() => driverCommandLine({ ...bare, program })).toThrow(
        /needs Python 3\.10 or newer, .* lacks: (run|install) /,
      );
    }
    const properties = { "spark.pyspark.python": "/env/bin/python" };
    expect(driverCommandLine({ ...bare, properties }).env["HEADGATE_DRIVER_PYTHON"]).toBe("/env/bin/python");
  });

  it("does not contain secrets, because other users can list processes", () => {
    const { argv, env, propertiesText } = driverCommandLine(run);
    expect(JSON.stringify([argv, env])).not.toContain("hunter2");
    expect(propertiesText).toContain("hunter2");
  });

  it("names the run by its tags, closes its ports, and disables the UI whatever the properties say", () => {
    const properties = { "spark.ui.enabled": "true" };
    const lines = driverCommandLine({ ...run, properties }).propertiesText.split("\n");
    expect(lines).toEqual(
      expect.arrayContaining([
        "spark.authenticate=true",
        "spark.ui.enabled=false",
        "spark.driver.bindAddress=127.0.0.1",
        "spark.test.appId=command-7-1",
        "spark.headgate.command=7",
        "spark.headgate.request=req-1",
        "spark.yarn.tags=command-7,request-req-1",
        "spark.eventLog.dir=file:///attempt/events",
      ]),
    );
  });

  it("logs warnings only, unless the program or its configuration of log4j has another level", () => {
    const levelIn = ({ propertiesText }: { propertiesText: string }) =>
      /^spark\.log\.level=(.*)$/m.exec(propertiesText)?.[1];
    const ownFile = "-Dlog4j2.configurationFile=file:///in/log4j2.xml";
    expect(levelIn(driverCommandLine(run))).toBe("WARN");
    expect(levelIn(driverCommandLine(withArguments("--conf", "spark.log.level=INFO")))).toBe("INFO");
    expect(levelIn(driverCommandLine(withArguments("--driver-java-options", `-Dx=1 ${ownFile}`)))).toBe(undefined);
    expect(levelIn(driverCommandLine(withArguments("--conf", `spark.driver.extraJavaOptions=${ownFile}`)))).toBe(
      undefined,
    );
    const properties = { "spark.driver.defaultJavaOptions": "-Dlog4j.configurationFile=/x.xml" };
    expect(levelIn(driverCommandLine({ ...run, properties }))).toBe(undefined);
  });

  it("accepts remote executors if the cluster's properties say so", () => {
    const properties = {
      "spark.master": "spark://10.0.0.7:7077",
      "spark.authenticate": "false",
      "spark.driver.bindAddress": "0.0.0.0",
      "spark.driver.host": "10.0.0.5",
    };
    const lines = driverCommandLine({ ...run, properties }).propertiesText.split("\n");
    const said = Object.entries(properties).map(([key, value]) => `${key}=${value}`);
    expect(lines).toEqual(expect.arrayContaining(said));
  });

  it.each<[string[], number]>([
    [[], 1024],
    [["--driver-memory", "2g"], 2048],
    [["--driver-memory=512M"], 512],
    [["--conf", "spark.driver.memory=3g"], 3072],
    [["-c", "spark.driver.memory=3g", "--driver-memory", "1500"], 1500],
  ])("takes the heap from %j", (words, memoryMiB) => {
    const { argv, memoryMiB: charged } = driverCommandLine(withArguments(...words));
    expect(charged).toBe(memoryMiB);
    expect(argv).toContain(`-Xmx${memoryMiB}m`);
  });

  it("puts the program's own class path first, and then does not use the archive", () => {
    const { argv } = driverCommandLine(withArguments("--driver-class-path", "/x/y.jar"));
    expect(argv).toContain("/x/y.jar:/spark/jars/a.jar:/spark/jars/b.jar");
    expect(argv.some((word) => word.includes("SharedArchive"))).toBe(false);
  });

  it("sends remote executors our classes and the jars for S3, which their Spark lacks, after those of the program", () => {
    const jarsOf = ({ submission }: { submission: readonly string[] }) =>
      submission.flatMap((word, index) => (word === "--jars" ? [submission[index + 1]] : []));
    const elsewhere = { ...run.properties, "spark.master": "yarn" };
    expect(jarsOf(driverCommandLine({ ...run, properties: elsewhere }))).toEqual([
      "/jvm.jar,/extra/s3.jar,/extra/sdk.jar",
    ]);
    const asking = { ...withArguments("--jars", "/mine.jar"), properties: elsewhere };
    expect(jarsOf(driverCommandLine(asking)).at(-1)).toBe("/mine.jar,/jvm.jar,/extra/s3.jar,/extra/sdk.jar");
    const kept = { ...run, properties: { ...elsewhere, "spark.jars": "/the-clusters.jar" } };
    expect(jarsOf(driverCommandLine(kept))).toEqual(["/the-clusters.jar,/jvm.jar,/extra/s3.jar,/extra/sdk.jar"]);
    expect(jarsOf(driverCommandLine({ ...run, properties: { "spark.master": "yarn" } }))).toEqual(["/jvm.jar"]);
    expect(jarsOf(driverCommandLine(run))).toEqual([]);
    const withKeys = withArguments("--conf", "spark.hadoop.fs.s3a.endpoint=http://s3.example.com");
    const asItself = driverCommandLine({ ...withKeys, properties: { "spark.master": "yarn" } });
    expect(jarsOf(asItself)).toEqual(["/jvm.jar,/extra/s3.jar,/extra/sdk.jar"]);
  });

  it("writes the program's own properties into the file too, where our main class reads them", () => {
    const words = ["--conf", "spark.yarn.jars=local:/opt/spark/jars/*", "--name", "mine"];
    const properties = { "spark.master": "yarn", "spark.yarn.jars": "local:/there/*", "spark.yarn.queue": "etl" };
    const lines = driverCommandLine({ ...withArguments(...words), properties }).propertiesText.split("\n");
    const wanted = ["spark.app.name=mine", "spark.master=yarn", "spark.yarn.jars=local:/opt/spark/jars/*"];
    expect(lines).toEqual(expect.arrayContaining([...wanted, "spark.yarn.queue=etl"]));
  });

  it("puts jars of the server after Spark's own, so that the archive can still be used", () => {
    const { argv } = driverCommandLine({ ...run, classPath: ["/more.jar"] });
    expect(argv).toContain("/spark/jars/a.jar:/spark/jars/b.jar:/more.jar");
    expect(argv).toContain("-XX:SharedArchiveFile=/launch/classes.jsa");
  });

  it.each<[SourceProgram, string[]]>([
    [
      { kind: "scala", file: "/input/program.scala", arguments: ["--queue", "x"], programArguments: ["one"] },
      ["--class", "headgate.program.ScalaProgram", "spark-internal", "/input/program.scala", "-", "one"],
    ],
    [
      { kind: "scala", file: "/input/program.scala", arguments: ["--class", "a.Main"], programArguments: [] },
      ["--class", "headgate.program.ScalaProgram", "spark-internal", "/input/program.scala", "a.Main"],
    ],
    [
      { kind: "R", file: "/input/program.R", arguments: [], programArguments: ["one"] },
      ["--conf", "spark.r.driver.command=/launch/wrappers/R", "/input/program.R", "one"],
    ],
    [
      { kind: "R-by-python", file: "/input/program.R", arguments: [], programArguments: ["one"] },
      ["--conf", "spark.pyspark.driver.python=/launch/wrappers/R", "/input/program.R.py", "one"],
    ],
  ])("runs %j in one JVM", (program, words) => {
    const { argv, propertiesText } = driverCommandLine({ ...run, program });
    expect(argv.slice(-words.length)).toEqual(words);
    expect(propertiesText).toContain(`spark.app.name=${program.file.slice("/input/".length)}\n`);
  });

  it("runs the interpreter that the program requests, through the wrapper", () => {
    const { argv, env } = driverCommandLine(withArguments("--conf", "spark.pyspark.python=/env/bin/python"));
    expect(env["HEADGATE_DRIVER_PYTHON"]).toBe("/env/bin/python");
    expect(argv).toContain("spark.pyspark.driver.python=/launch/wrappers/python");
    const properties = { "spark.pyspark.python": "/there/python", "spark.pyspark.driver.python": "/here/python" };
    expect(driverCommandLine({ ...run, properties }).env).toMatchObject({ HEADGATE_DRIVER_PYTHON: "/here/python" });
  });

  it.each([
    ["spark-submit", "--name", "x", "s3://bucket/job.py", "--name", "y"],
    ["/usr/lib/spark/bin/spark-submit", "--name", "x", "s3://bucket/job.py", "--name", "y"],
    ["--name", "x", "s3://bucket/job.py", "--name", "y"],
  ])("accepts a command line with or without the word spark-submit", (...words) => {
    const { argv } = driverCommandLine(withCommandLine(...words));
    const own = argv.slice(argv.indexOf("/input/spark.conf") + 1);
    expect(own.slice(0, 2)).toEqual(["--name", "x"]);
    expect(own.slice(4)).toEqual(["s3://bucket/job.py", "--name", "y"]);
  });

  it("drops settings that the server decides, from its words and its file", () => {
    const words = ["--deploy-mode", "cluster", "--conf", "spark.ui.enabled=true", "-c", "spark.local.dir=/mnt"];
    const { submission, propertiesText, ignored } = driverCommandLine(withArguments(...words));
    expect(ignored).toEqual(["--deploy-mode", "spark.ui.enabled", "spark.local.dir"]);
    expect(submission).toEqual(driverCommandLine(withArguments()).submission);
    expect(propertiesText).toBe(driverCommandLine(withArguments()).propertiesText);
  });

  it("uses the cores of a local master on a local cluster, and the cluster's master otherwise", () => {
    const asking = withArguments("--master", "local[2]");
    const onYarn = { ...asking, properties: { "spark.master": "yarn" } };
    expect(driverCommandLine(asking).propertiesText).toContain("spark.master=local[2]\n");
    expect(driverCommandLine(asking).ignored).toEqual([]);
    expect(driverCommandLine(onYarn).propertiesText).toContain("spark.master=yarn\n");
    expect(driverCommandLine(onYarn).submission).not.toContain("--master");
    expect(driverCommandLine(onYarn).ignored).toEqual(["--master"]);
  });

  it("keeps Python files that are given by a property", () => {
    const { submission, ignored } = driverCommandLine(withArguments("--conf", "spark.submit.pyFiles=a.zip"));
    expect(submission).toContain("spark.submit.pyFiles=a.zip");
    expect(ignored).toEqual([]);
  });

  it("refuses the same options as a submission, and names the field", () => {
    expect(() => driverCommandLine(withArguments("--proxy-user", "root"))).toThrow(
      /^arguments may not have --proxy-user/,
    );
    const program = {
      kind: "command_line",
      field: "script_location",
      words: ["--proxy-user", "root", "a.py"],
    } as const;
    expect(() => driverCommandLine({ ...run, program })).toThrow(/^script_location may not have --proxy-user/);
  });

  it("refuses a command line without a program", () => {
    expect(() => driverCommandLine(withCommandLine("spark-submit", "--verbose"))).toThrow(
      "cmdline names no program to run",
    );
  });

  it("reports the requested memory before anything is prepared", () => {
    expect(statedMemoryMiB(withCommandLine("--driver-memory", "4g", "a.py").program)).toBe(4096);
  });
});

it.each([
  ["512", 512],
  ["512m", 512],
  ["2G", 2048],
  ["2gb", 2048],
  ["1048576k", 1024],
  ["1t", 1_048_576],
])("reads the memory size %s as Spark does", (text, size) => {
  expect(parseMemoryMiB(text, "arguments")).toBe(size);
});

it("writes properties that Java reads back unchanged", () => {
  expect(renderProperties({ "a=b c": " x\\y\nü🚰=#", plain: "v=1" })).toBe(
    String.raw`a\=b\ c=\ x\\y\n\u00fc\ud83d\udeb0=#` + "\nplain=v=1\n",
  );
});

it("reads properties as Java does", () => {
  const lines = [
    "# a comment goes nowhere \\",
    "a 1 ",
    "\tlist = one,\\",
    "   two,\\\r",
    "# three",
    "! another comment",
    "path=C\\:\\\\",
    "with\\ space:v=1",
    "letter=\\u00fc\\tx",
    "empty",
    "",
    "last=x\\",
  ];
  expect(parseProperties(lines.join("\n"))).toEqual({
    a: "1",
    list: "one,two,# three",
    path: "C:\\",
    "with space": "v=1",
    letter: "ü\tx",
    empty: "",
    last: "x",
  });
  const written = { "a=b c": " x\\y\nü🚰=#".trim(), plain: "v=1" };
  expect(parseProperties(renderProperties(written))).toEqual(written);
});
