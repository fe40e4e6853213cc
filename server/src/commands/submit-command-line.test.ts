import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { useServer, type AccountClient } from "../../test/support/given.ts";
import { noEventLogs } from "../../test/support/no-event-logs.ts";
import { stubSparkHome } from "../../test/support/stub-spark-home.ts";
import { NOTHING_CONTRIBUTED } from "../engines/spark-home/contribution.ts";
import { sparkDriver } from "./programs/spark-driver.ts";

/** A program that prints its arguments replaces Java, so a command's result is its driver's command line. */
const home = stubSparkHome("/bin/echo");
const given = useServer({
  driver: sparkDriver(
    { current: () => ({ state: "ready", detail: "", home }) },
    () => Promise.resolve(NOTHING_CONTRIBUTED),
    noEventLogs,
  ),
});

/** The first account of the server: it may run programs even on machines without a sandbox. */
let account: AccountClient;
beforeAll(async () => {
  account = await given.account();
});

const python = { command_type: "SparkCommand", language: "python", program: "print(1)" };

async function stored(): Promise<number> {
  const { system } = given.app.services.db;
  return (await system.query("select from command where account_id = $1", [account.accountId])).length;
}

async function refused(body: object, message: RegExp): Promise<void> {
  const before = await stored();
  await account.post("/commands", { command_type: "SparkCommand", ...body }).refused(422, message);
  expect(await stored()).toBe(before);
}

/** Runs the command and expects it to succeed. */
async function run(body: object): Promise<{ id: number; words: string[]; log: string }> {
  const { id } = await account.post("/commands", { command_type: "SparkCommand", ...body });
  return { id, ...(await outcomeOf(id)) };
}

async function outcomeOf(id: number): Promise<{ words: string[]; log: string }> {
  const { error_log: log } = await ended(id, "done");
  const { results } = await account.get(`/commands/${id}/results`);
  return { words: results.trimEnd().split(" "), log };
}

async function ended(id: number, status: string): Promise<{ error_log: string }> {
  await expect
    .poll(async () => (await account.get(`/commands/${id}?wait_seconds=45`)).status, { timeout: 60_000 })
    .toMatch(/^(done|error)$/);
  const errorLog = await account.get(`/commands/${id}/error_logs`);
  expect((await account.get(`/commands/${id}`)).status, errorLog.error_log).toBe(status);
  return errorLog;
}

/** Written by hand: what a command line may not contain, and the option or setting that the refusal names. */
const FORBIDDEN: [words: string, named: RegExp][] = [
  // Isolation and authentication
  ["--conf spark.authenticate=false", /may not set spark\.authenticate: the server sets it/],
  ["--conf spark.authenticate=true", /may not set spark\.authenticate:/],
  ["-c spark.authenticate.secret=x", /may not set spark\.authenticate\.secret:/],
  ["--conf=spark.authenticate.secret.file=/x", /may not set spark\.authenticate\.secret\.file:/],
  ["--conf spark.authenticate.secret.driver.file=/x", /may not set spark\.authenticate\.secret\.driver\.file:/],
  ["--conf ' spark.authenticate=false'", /may not set spark\.authenticate:/],
  ["--conf spark.authenticate.enableSaslEncryption=false", /may not set spark\.authenticate\.enableSasl/],
  ["--conf spark.network.crypto.enabled=false", /may not set spark\.network\.crypto\.enabled:/],
  ["--conf spark.network.crypto.saslFallback=true", /may not set spark\.network\.crypto\.saslFallback:/],
  ["--conf spark.network.sasl.serverAlwaysEncrypt=false", /may not set spark\.network\.sasl\.serverAlwaysEncrypt:/],
  ["--conf spark.io.encryption.enabled=false", /may not set spark\.io\.encryption\.enabled:/],
  ["--conf spark.io.encryption.keySizeBits=128", /may not set spark\.io\.encryption\.keySizeBits:/],
  ["--conf spark.headgate.metastore.secret=x", /may not set spark\.headgate\.metastore\.secret:/],
  [
    "--conf spark.hadoop.hadoop.user.group.static.mapping.overrides=a=b",
    /may not set spark\.hadoop\.hadoop\.user\.group/,
  ],
  ["--conf spark.launcher.port=1", /may not set spark\.launcher\.port:/],
  ["--conf spark.launcher.secret=x", /may not set spark\.launcher\.secret:/],
  ["--driver-java-options -Dspark.authenticate=false", /may not have the Java option -Dspark\.authenticate:/],
  ["--conf 'spark.driver.extraJavaOptions=-Xss1m -Dspark.remote=sc://x'", /the Java option -Dspark\.remote:/],
  // Ports that others on the machine could use
  ["--driver-java-options -agentlib:jdwp=transport=dt_socket,server=y", /may not have -agentlib:jdwp in spark\.driver/],
  ["--conf 'spark.driver.extraJavaOptions=-Xss1m -Xrunjdwp:server=y'", /-Xrunjdwp.* in spark\.driver\.extraJava/],
  ["--conf spark.driver.defaultJavaOptions=-agentlib:jdwp", /-agentlib:jdwp in spark\.driver\.defaultJava/],
  ["--conf spark.executor.extraJavaOptions=-agentlib:jdwp=address=*:5005", /-agentlib:jdwp in spark\.executor\.extra/],
  ["--conf spark.executor.defaultJavaOptions=-agentpath:/x/libjdwp.so", /-agentpath.* in spark\.executor\.default/],
  ["--conf 'spark.executor.extraJavaOptions=-agent\"lib:jdwp\"'", /-agentlib:jdwp in spark\.executor\.extra/],
  ["--conf 'spark.executor.extraJavaOptions=\" -agentlib:jdwp'", /-agentlib:jdwp in spark\.executor\.extra/],
  ["--conf spark.yarn.am.extraJavaOptions=-agentlib:jdwp", /-agentlib:jdwp in spark\.yarn\.am\.extra/],
  ["--conf spark.executorEnv.JAVA_TOOL_OPTIONS=-agentlib:jdwp", /in spark\.executorEnv\.JAVA_TOOL_OPTIONS:/],
  ["--conf spark.executorEnv._JAVA_OPTIONS=-Xrunjdwp:a", /in spark\.executorEnv\._JAVA_OPTIONS:/],
  ["--conf spark.yarn.appMasterEnv.JDK_JAVA_OPTIONS=-agentlib:jdwp", /in spark\.yarn\.appMasterEnv\.JDK_JAVA_OPTIONS:/],
  ["--driver-java-options -Dspark.executor.extraJavaOptions=-agentlib:jdwp", /-agentlib:jdwp in spark\.executor/],
  ["--driver-java-options -Dcom.sun.management.jmxremote.port=9010", /may not have -Dcom\.sun\.management\.jmxremote/],
  ["--driver-java-options -XX:VMOptionsFile=/x", /may not name a file of Java options in spark\.driver/],
  ["--conf spark.executor.extraJavaOptions=@/x", /may not name a file of Java options in spark\.executor/],
  // The user that it runs as
  ["--proxy-user root", /may not have --proxy-user: the server decides which user/],
  ["--proxy-user=root", /may not have --proxy-user:/],
  ["--principal p@REALM", /may not have --principal:/],
  ["--keytab /x.keytab", /may not have --keytab:/],
  ["--conf spark.kerberos.keytab=/x", /may not set spark\.kerberos\.keytab:/],
  ["--conf spark.kerberos.principal=p", /may not set spark\.kerberos\.principal:/],
  ["--conf spark.yarn.keytab=/x", /may not set spark\.yarn\.keytab:/],
  ["--conf spark.yarn.principal=p", /may not set spark\.yarn\.principal:/],
  // Other servers, other files
  ["--remote sc://elsewhere", /may not have --remote: the cluster's label decides/],
  ["--conf spark.remote=sc://elsewhere", /may not set spark\.remote:/],
  ["--properties-file /etc/spark.conf", /may not have --properties-file: .*use --conf/],
  ["--properties-file=/etc/spark.conf", /may not have --properties-file:/],
  ["--driver-default-class-path /x", /may not have --driver-default-class-path: .*use --driver-class-path/],
  // Options that submit nothing
  ["--help", /may not have --help: it does not run a program/],
  ["-h", /may not have --help:/],
  ["--version", /may not have --version:/],
  ["--usage-error", /may not have --usage-error:/],
  ["--kill driver-1", /may not have --kill:/],
  ["--status driver-1", /may not have --status:/],
  // What spark-submit does not know
  ["--jarz x", /has "--jarz", which is not an option of spark-submit/],
  ["--driver_memory 2g", /has "--driver_memory", which is not an option/],
  ["-x", /has "-x", which is not an option/],
  ["-D spark.x=1", /has "-D", which is not an option/],
  ["--name=", /has "--name=", which is not an option/],
  ["--", /has "--", which is not an option/],
  ["other.py", /has "other\.py", which is neither an option of spark-submit nor the value of one/],
  ["--name nightly job", /has "job", which is neither an option/],
  ["''", /has "", which is neither an option/],
  ["--jars", /ends with --jars, which needs a value/],
  ["--verbose --conf", /ends with --conf, which needs a value/],
  ["--conf spark.master", /has --conf "spark\.master", which is not key=value/],
  ["--conf ''", /has --conf "", which is not key=value/],
  ["-c =1", /has --conf "=1", which is not key=value/],
  // Sizes and numbers
  ["--driver-memory 1x", /has --driver-memory "1x", which is not a size such as 512m or 2g/],
  ["--driver-memory 1.5g", /has --driver-memory "1\.5g", which is not a size/],
  ["--driver-memory 4k", /has the memory size "4k"/],
  ["--driver-memory '${MEMORY}'", /has --driver-memory "\$\{MEMORY\}", which is not a size/],
  ["--executor-memory lots", /has --executor-memory "lots", which is not a size/],
  ["--executor-memory 0", /has --executor-memory "0", which is not a size/],
  ["--conf spark.driver.memory=-1", /has spark\.driver\.memory "-1", which is not a size/],
  ["--conf spark.executor.memory=lots", /has spark\.executor\.memory "lots", which is not a size/],
  ["--conf spark.executor.memoryOverhead=10%", /has spark\.executor\.memoryOverhead "10%", which is not a size/],
  ["--conf spark.driver.maxResultSize=2gig", /has spark\.driver\.maxResultSize "2gig", which is not a size/],
  ["--executor-cores two", /has --executor-cores "two", which is not a whole number of at least 1/],
  ["--executor-cores 0", /has --executor-cores "0", which is not a whole number/],
  ["--driver-cores 1.5", /has --driver-cores "1\.5", which is not a whole number/],
  ["--num-executors -1", /has --num-executors "-1", which is not a whole number of at least 0/],
  ["--total-executor-cores 99999999999", /has --total-executor-cores "99999999999", which is not a whole number/],
  ["--conf spark.executor.instances=many", /has spark\.executor\.instances "many", which is not a whole number/],
  ["--conf spark.executor.cores=", /has spark\.executor\.cores "", which is not a whole number/],
  ["--conf spark.cores.max=x", /has spark\.cores\.max "x", which is not a whole number/],
  ["--conf spark.task.cpus=x", /has spark\.task\.cpus "x", which is not a whole number/],
  // Java's command line
  ["--driver-java-options -Xmx9g", /may not have -Xmx: use --driver-memory/],
  ["--driver-java-options -Xms9g", /may not have -Xms: use --driver-memory/],
  ["--driver-java-options -mx9g", /may not have -mx: use --driver-memory/],
  ["--driver-java-options -ms9g", /may not have -ms: use --driver-memory/],
  ["--driver-java-options -Xmn9g", /may not have -Xmn: use --driver-memory/],
  ["--driver-java-options -XX:MaxHeapSize=9g", /may not have -XX:MaxHeapSize: use --driver-memory/],
  ["--conf spark.driver.defaultJavaOptions=-XX:InitialHeapSize=9g", /may not have -XX:InitialHeapSize:/],
  ["--conf 'spark.driver.extraJavaOptions=-Da=b -XX:MaxRAM=900g'", /may not have -XX:MaxRAM:/],
  ["--driver-java-options -XX:MaxRAMPercentage=90", /may not have -XX:MaxRAMPercentage:/],
  ["--driver-java-options -XX:MaxRAMFraction=1", /may not have -XX:MaxRAMFraction:/],
  ["--driver-java-options -XX:MaxDirectMemorySize=900g", /may not have -XX:MaxDirectMemorySize:/],
  ["--driver-java-options -XX:+AggressiveHeap", /may not have -XX:\+AggressiveHeap: use --driver-memory/],
  ["--driver-java-options -XX:Flags=/tmp/f", /may not name a file of Java options in spark\.driver/],
  ["--driver-java-options @/tmp/f", /may not name a file of Java options in spark\.driver/],
  ["--driver-java-options '-cp /x'", /may not have the Java option -cp:/],
  ["--driver-java-options evil.Main", /has the Java option "evil\.Main"/],
  ["--conf spark.driver.defaultJavaOptions=-jar", /may not have the Java option -jar:/],
  // Quotes
  ["--name 'half", /has an unterminated single quote at character \d+/],
];

describe("what a command line may not contain", () => {
  test("is a table of over 56 cases", () => expect(FORBIDDEN.length).toBeGreaterThan(56));

  test.each(FORBIDDEN)("is refused as arguments and nothing is stored: %s", async (words, named) => {
    await refused({ ...python, arguments: words }, new RegExp(`^arguments .*${named.source}`));
  });

  /** These mean something else before an application, which becomes their value or an argument. */
  const otherwise = ["--jars", "--verbose --conf", "--name nightly job", "other.py", "''"];
  test.each(FORBIDDEN.filter(([words]) => !otherwise.includes(words)))(
    "is refused before an application: %s",
    async (words, named) => {
      await refused({ cmdline: `spark-submit ${words} job.py` }, new RegExp(`^cmdline .*${named.source}`));
    },
  );

  test.each([
    ["spark-submit", /^cmdline names no program to run/],
    ["spark-submit --verbose", /^cmdline names no program to run/],
    ["spark-submit --name nightly job a.py", /^cmdline has "job" before "a\.py": only options are allowed there/],
    ["sudo -u spark spark-submit a.py", /^cmdline has "sudo" before "spark-submit"/],
    ["PYTHONPATH=/x /opt/spark/bin/spark-submit a.py", /^cmdline has "PYTHONPATH=\/x" before/],
    ["spark-submit a.py 'x", /^cmdline has an unterminated single quote/],
  ])("is refused as cmdline: %s", async (cmdline, message) => {
    await refused({ cmdline }, message);
  });

  test("is refused as the text of a program, and in a stored script", async () => {
    const line = "spark-submit --proxy-user root a.py";
    await refused({ program: line, language: "command_line" }, /^program may not have --proxy-user/);
    const path = join(given.dataDir, "accounts", String(account.accountId), "storage/job.cmdline");
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, line);
    await refused({ script_location: `file:${path}` }, /^script_location may not have --proxy-user/);
    await refused({ script_location: `file:${path}`, arguments: "--jarz x" }, /^arguments has "--jarz"/);
  });

  test("is refused when a macro supplies it; the value of the macro decides", async () => {
    const macros = [{ option: "'--proxy-user'" }, { cores: "1 + 1" }];
    await refused({ ...python, arguments: "$option$ root", macros }, /^arguments may not have --proxy-user/);
    await refused({ cmdline: "$option$ root a.py", macros }, /^cmdline may not have --proxy-user/);
    await refused({ ...python, arguments: "--executor-cores $unknown$", macros }, /^arguments has --executor-cores/);
    const { words } = await run({ ...python, arguments: "--executor-cores $cores$", macros });
    expect(words.join(" ")).toContain("--executor-cores 2");
  });

  test("is also refused beside SQL, and unbalanced quotes are refused in the program's own arguments", async () => {
    await refused({ sql: "select 1", arguments: "--proxy-user root" }, /^arguments may not have --proxy-user/);
    await refused(
      { ...python, user_program_arguments: 'one "two' },
      /^user_program_arguments has an unterminated double quote/,
    );
  });
});

/** Written by hand: the words, and the names that the log shows for them. */
const OWNED: [words: string, names: string[]][] = [
  ["--master yarn", ["--master"]],
  ["--master=spark://10.0.0.1:7077", ["--master"]],
  ["--master k8s://https://10.0.0.1:6443", ["--master"]],
  ["--master local-cluster[2,1,1024]", ["--master"]],
  ["--master 'local[ 2 ]'", ["--master"]],
  ["--master ' local[2]'", ["--master"]],
  ["--master local[0]", ["--master"]],
  ["--master local[2,0]", ["--master"]],
  ["--conf spark.master=yarn", ["spark.master"]],
  ["--deploy-mode client", ["--deploy-mode"]],
  ["--deploy-mode=cluster", ["--deploy-mode"]],
  ["--supervise", ["--supervise"]],
  ["--conf spark.driver.supervise=true", ["spark.driver.supervise"]],
  ["--load-spark-defaults", ["--load-spark-defaults"]],
  ["--conf spark.submit.deployMode=cluster", ["spark.submit.deployMode"]],
  ["--conf spark.submit.callSystemExitOnMainExit=true", ["spark.submit.callSystemExitOnMainExit"]],
  ["--conf spark.ui.enabled=false", ["spark.ui.enabled"]],
  ["--conf=spark.ui.port=4040", ["spark.ui.port"]],
  ["-c spark.ui.enabled=true -c spark.ui.enabled=false", ["spark.ui.enabled"]],
  ["--conf spark.eventLog.enabled=false", ["spark.eventLog.enabled"]],
  ["--conf spark.eventLog.dir=s3://b/logs", ["spark.eventLog.dir"]],
  ["--conf spark.driver.port=7001", ["spark.driver.port"]],
  ["--conf spark.blockManager.port=7002", ["spark.blockManager.port"]],
  ["--conf spark.driver.blockManager.port=7003", ["spark.driver.blockManager.port"]],
  ["--conf spark.driver.host=10.0.0.1", ["spark.driver.host"]],
  ["--conf ' spark.driver.bindAddress=0.0.0.0'", ["spark.driver.bindAddress"]],
  ["--conf spark.fileserver.port=7004", ["spark.fileserver.port"]],
  ["--conf spark.app.id=mine", ["spark.app.id"]],
  ["--conf spark.test.appId=mine", ["spark.test.appId"]],
  ["--conf spark.yarn.tags=mine", ["spark.yarn.tags"]],
  ["--conf spark.log.callerContext=mine", ["spark.log.callerContext"]],
  ["--conf spark.headgate.command=9", ["spark.headgate.command"]],
  ["--conf spark.local.dir=/mnt/spark", ["spark.local.dir"]],
];

describe("settings that the server decides", () => {
  test("are left out and named in the log once each, and the other settings stay", async () => {
    const kept = "--name nightly --conf spark.sql.shuffle.partitions=4";
    const { words, log } = await run({ ...python, arguments: [kept, ...OWNED.map(([each]) => each)].join(" ") });
    const names = [...new Set(OWNED.flatMap(([, each]) => each))];
    expect(log).toBe(names.map((name) => `headgate: ${name} is set by the server: ignored\n`).join(""));
    expect(ownWords(words)).toEqual(kept.split(" "));
  });

  test.each(["spark-submit", "/usr/lib/spark/bin/spark-submit", "$SPARK_HOME/bin/spark-submit", ""])(
    "do not prevent a command line that begins with %j from running",
    async (first) => {
      const owned =
        "--master yarn --deploy-mode client --conf spark.ui.enabled=false --conf spark.eventLog.enabled=false";
      const { words, log } = await run({ cmdline: `${first} ${owned} --queue etl --verbose job.py --master one` });
      expect(log.match(/headgate: .*: ignored\n/g)).toHaveLength(4);
      expect(ownWords(words)).toEqual(["--queue", "etl", "--verbose"]);
      expect(words.slice(-3)).toEqual(["job.py", "--master", "one"]);
    },
  );

  test.each(["local", "local[2]", "local[*]", "local[2,3]"])(
    "do not include the master %s on a local cluster",
    async (master) => {
      const { words, log } = await run({ ...python, arguments: `--master ${master} -c spark.master=${master}` });
      expect(ownWords(words)).toEqual(["--master", master, "--conf", `spark.master=${master}`]);
      expect(log).toBe("");
    },
  );

  test("are named in the log in one line each, at most a hundred of them", async () => {
    const many = Array.from({ length: 120 }, (_, at) => `-c spark.ui.x${at}=1`).join(" ");
    const { log } = await run({ ...python, arguments: `-c 'spark.ui.a\nheadgate: forged=1' ${many}` });
    const lines = log.trimEnd().split("\n");
    expect(lines).toHaveLength(101);
    expect(lines[0]).toBe(String.raw`headgate: "spark.ui.a\nheadgate: forged" is set by the server: ignored`);
    expect(lines[100]).toBe("headgate: 21 more settings are set by the server: ignored");
  });

  test("of a cluster or an app are still refused", async () => {
    const cluster = { labels: ["tuned"], engine: { type: "local" } };
    for (const key of ["spark.ui.enabled", "spark.eventLog.dir", "spark.authenticate", "spark.submit.deployMode"]) {
      const config = { [key]: "x" };
      const message = new RegExp(`may not set ${key}`);
      await account.post("/api/v2/clusters", { ...cluster, spark_config: config }).refused(422, message);
      await account.post("/api/v2/apps", { name: "tuned", config }).refused(422, message);
    }
    const bad = { "spark.executor.memory": "lots" };
    await account
      .post("/api/v2/clusters", { ...cluster, spark_config: bad })
      .refused(422, /spark\.executor\.memory "lots"/);
  });
});

describe("a command that an earlier version accepted", () => {
  const line = "spark-submit --conf spark.ui.enabled=false --proxy-user root a.py";

  test.each([
    [python, { arguments: "--proxy-user root" }, "print(1)", "arguments may not have --proxy-user: "],
    [{ cmdline: "a.py" }, { cmdline: line }, line, "cmdline may not have --proxy-user: "],
  ])("ends as an error with the reason, and cannot be run again: %#", async (body, change, text, reason) => {
    const { id } = await run(body);
    const old = await copyOf(id, change, text);
    expect((await ended(old, "error")).error_log).toContain(`headgate: ${reason}`);
    await account.post(`/commands/${old}/rerun`).refused(422, new RegExp(`^${reason}`));
  });

  test("runs, and can be rerun, if it only has settings that the server decides", async () => {
    const { id } = await run(python);
    const old = await copyOf(id, { arguments: "--master yarn" }, "print(1)");
    const { id: again } = await account.post(`/commands/${old}/rerun`);
    for (const each of [old, again]) {
      const { words, log } = await outcomeOf(each);
      expect(log).toBe("headgate: --master is set by the server: ignored\n");
      expect(ownWords(words)).toEqual([]);
    }
  });

  /** Writes into the database directly, without the current rules. */
  async function copyOf(id: number, change: object, text: string): Promise<number> {
    const { db, commandEvents } = given.app.services;
    const [row] = await db.system.query<{ id: number }>(
      `with copied as (
         insert into command (account_id, user_id, label, cluster_id, command_type, command, request_id)
         select account_id, user_id, label, cluster_id, command_type, (command::jsonb || $2::jsonb)::json, request_id
           from command where id = $1 returning id, account_id),
       sourced as (
         insert into command_source_text (command_id, account_id, resolved) select id, account_id, $3 from copied)
       select id from copied`,
      [id, JSON.stringify(change), text],
    );
    commandEvents.wake();
    return row?.id ?? 0;
  }
});

/** The words of the driver that came from the command's own options. */
function ownWords(words: string[]): string[] {
  const from = words.findIndex((word) => word.endsWith("/spark.properties")) + 1;
  return words.slice(from, words.indexOf("spark.pyspark.driver.python=/launch/wrappers/python") - 1);
}
