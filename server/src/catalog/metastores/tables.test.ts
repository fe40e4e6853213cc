import { randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { because, NO_ISOLATION } from "../../../test/skip-reasons/skip-reasons.ts";
import { sparkIsMissing } from "../../../test/support/spark-missing.ts";
import { AccountClient } from "../../../test/support/given.ts";
import { metastoreEntry, metastoreOf } from "../../../test/support/java-process.ts";
import { runSparkProgram } from "../../../test/support/spark-program.ts";
import { foundSparkAccount } from "../../../test/support/spark-server.ts";
import { runSql, useSpark } from "../../../test/support/spark.ts";
import { putStorageFile } from "../../../test/support/storage-files.ts";
import { probeMetastore } from "../../engines/hive-metastore/probe-metastore.ts";
import { findTestBubblewrap } from "../../../test/bubblewrap/find-test-bubblewrap.ts";

const identity = process.getuid?.() === 0 ? { uid: 200_001, gid: 200_001 } : undefined;
const isIsolated = (await findTestBubblewrap(identity)).kind === "usable";

/** `tables-of-programs.full.test.ts` has the tables that queries and programs of one account share. */
describe.skipIf(sparkIsMissing)("the tables of an account", () => {
  const spark = useSpark();

  it.skipIf(!isIsolated)(
    "and its files are hidden from other accounts, whose secret does not open the metastore, even from inside a command",
    because(NO_ISOLATION),
    async () => {
      const name = `t_${randomBytes(4).toString("hex")}`;
      await runSql(spark.account, `create table ${name} using parquet as select 7 as n`);
      const email = `${name}@example.test`;
      const { accountId, token } = await foundSparkAccount(spark.connection, email);
      const other = new AccountClient(spark.url, token, accountId, email);
      const ours = await metastoreEntry(spark.dataDir, spark.accountId);
      const { folder } = metastoreOf(spark.dataDir, spark.accountId);
      const file = putStorageFile(spark.dataDir, spark.accountId, `${name}.txt`, "ours\n");
      putStorageFile(spark.dataDir, accountId, "own.txt", "theirs\n");
      const report = JSON.parse(
        await runSparkProgram(other, intruder, { user_program_arguments: `${name} ${ours.port} ${folder} ${file}` }),
      );
      expect(report).toEqual({
        tables: [],
        isThere: false,
        count: 1,
        answers: ["", "", ""],
        files: [],
        storage: [["theirs"], "PATH_NOT_FOUND", "PATH_NOT_FOUND", "PATH_NOT_FOUND"],
        isSent: true,
      });
      const { id } = await runSql(spark.account, `select n from ${name}`);
      expect((await spark.account.get(`/commands/${id}/results`)).results).toBe("7\r\n");
      expect(await other.get("/hive/default")).toEqual([name]);

      const theirs = await metastoreEntry(spark.dataDir, accountId);
      const greets = (port: number, secret: string): Promise<boolean> =>
        probeMetastore(port, secret, AbortSignal.timeout(60_000));
      expect(theirs.port).not.toBe(ours.port);
      expect(await greets(theirs.port, ours.secret)).toBe(false);
      expect(await greets(ours.port, theirs.secret)).toBe(false);
      expect(await greets(theirs.port, theirs.secret)).toBe(true);
      expect(await greets(ours.port, ours.secret)).toBe(true);
    },
  );
});

/**
 * Creates a table of the same name in its own account and prints everything that it can read of the other account. It
 * also sends a file to its executor.
 */
const intruder = `
import json, os, socket, struct, sys
from pyspark import SparkFiles
from pyspark.sql import SparkSession
name, port, folder, file = sys.argv[1:]
spark = SparkSession.builder.getOrCreate()

def text(word):
    return struct.pack("!I", len(word)) + word.encode()

def call(method, arguments):
    return struct.pack("!I", 0x80010001) + text(method) + struct.pack("!I", 0) + arguments + b"\\0"

def greeting(secret):
    return call("set_ugi", b"\\x0b\\0\\1" + text("account1") + b"\\x0f\\0\\2\\x0b" + struct.pack("!I", 1) + text(secret))

def answer(*messages):
    with socket.create_connection(("127.0.0.1", int(port)), 20) as client:
        got = b""
        for message in messages:
            try:
                client.sendall(message)
                got += client.recv(4096)
            except ConnectionError:
                break
        return got.decode("latin1")

def files():
    try:
        return os.listdir(folder)
    except OSError:
        return []

def lines(path):
    try:
        return [row.value for row in spark.read.text(path).collect()]
    except Exception as error:
        return error.getCondition()

def storage():
    """The last one asks for the other account's folder as if it were the location of its own storage."""
    read = [lines(path) for path in ["storage:/own.txt", f"storage:/{name}.txt", file]]
    conf = spark.sparkContext._jsc.hadoopConfiguration()
    conf.set("fs.storage.location", os.path.dirname(file))
    conf.set("fs.storage.impl.disable.cache", "true")
    return read + [lines(f"storage:/{name}.txt")]

def is_sent():
    """Spark sends a file to its executor over the network, which needs system calls that the sandbox allows."""
    spark.sparkContext.addFile(__file__)
    return spark.sparkContext.parallelize([0], 1).map(lambda _: os.path.exists(SparkFiles.get("program.py"))).first()

tables = [table.name for table in spark.catalog.listTables()]
is_there = spark.catalog.tableExists(name)
spark.range(1).write.saveAsTable(name)
secret = spark.sparkContext.getConf().get("spark.headgate.metastore.secret")
databases = call("get_all_databases", b"")
print(json.dumps({
    "tables": tables,
    "isThere": is_there,
    "count": spark.table(name).count(),
    "answers": [answer(databases), answer(greeting(secret), databases), answer(greeting(""), databases)],
    "files": files(),
    "storage": storage(),
    "isSent": is_sent(),
}))
`;
