import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, inject, onTestFinished, test } from "vitest";
import { pythonEnvironmentFor } from "../src/engines/spark-home/program-python.ts";
import { accountIdentity } from "../src/commands/execution/command-files.ts";
import { findPython } from "../src/processes/set-up/find-python.ts";
import { runTool } from "../src/processes/set-up/run-tool.ts";
import { findTestBubblewrap } from "./bubblewrap/find-test-bubblewrap.ts";
import { adminHere } from "./support/admin-cli.ts";
import { findSparkHomeWithPackages, SET_UP_MS } from "./support/connect-server.ts";
import { operatorClient, startHeadgate } from "./support/headgate-process.ts";
import { useOwnSpark } from "./support/own-spark.ts";
import { runProgram } from "./support/programs.ts";
import { sparkIsMissing } from "./support/spark-missing.ts";
import { runSparkProgram } from "./support/spark-program.ts";
import { because, NO_ISOLATION } from "./skip-reasons/skip-reasons.ts";

const { kind } = await findTestBubblewrap(accountIdentity(1));
const PATIENCE = { timeout: 120_000 };

const program = `
from pyspark.sql import SparkSession
import pyspark.pandas as ps
spark = SparkSession.builder.getOrCreate()
print(spark.range(4).mapInPandas(lambda parts: parts, "id long").toPandas()["id"].sum(), ps.range(3)["id"].max())
`;

describe.skipIf(sparkIsMissing)("the packages of Python programs", () => {
  beforeAll(() => findSparkHomeWithPackages(inject("postgres").cacheDir), SET_UP_MS);

  describe.skipIf(kind !== "usable")("in a driver that waited", because(NO_ISOLATION), () => {
    const spark = useOwnSpark();

    test("are the same as in a driver that was started for its program", async () => {
      const { account, dataDir } = spark;
      expect(await runSparkProgram(account, program, { arguments: "" })).toBe("6 2\n");
      const standbys = join(dataDir, "accounts", String(account.accountId), "standby");
      const waiting = (): boolean =>
        readdirSync(standbys).some((name) =>
          readFileSync(join(standbys, name, "status.json"), "utf8").includes('"waiting"'),
        );
      await expect.poll(waiting, PATIENCE).toBe(true);
      const [taken = ""] = readdirSync(standbys);
      expect(await runSparkProgram(account, program, { arguments: "" })).toBe("6 2\n");
      await expect.poll(() => readdirSync(standbys)).not.toContain(taken);
    });

    test("come after those that a program brings from its storage", async () => {
      const { account, dataDir } = spark;
      const folder = join(dataDir, "accounts", String(account.accountId), "storage", "code");
      mkdirSync(folder, { recursive: true });
      writeFileSync(join(folder, "pandas.py"), "brought = 'mine'\n");
      const text = "import pandas, pyarrow; print(pandas.brought, pyarrow.__version__ != '')";
      const output = await runSparkProgram(account, text, {
        arguments: `--driver-memory 1g --py-files file://${folder}/pandas.py`,
      });
      expect(output).toBe("mine True\n");
    });
  });

  /** Another path of Python gets another environment, which is empty. */
  test("that cannot be downloaded are shown by admin status and by the error of a program that needs them", async () => {
    const python = await findPython();
    const base = mkdtempSync(join(realpathSync(tmpdir()), "headgate-path-"));
    chmodSync(base, 0o755);
    const dataDir = mkdtempSync(join(tmpdir(), "headgate-python-"));
    chmodSync(dataDir, 0o711);
    const path = join(base, "bin/python3");
    mkdirSync(join(base, "bin"));
    symlinkSync(realpathSync(python?.path ?? ""), path);
    const { cacheDir } = inject("postgres");
    const spark = await findSparkHomeWithPackages(cacheDir);
    const other = { path, version: python?.version ?? "" };
    const { folder } = pythonEnvironmentFor(realpathSync(cacheDir), other, spark.folder);
    onTestFinished(() => {
      for (const each of [base, dataDir, folder, `${folder}.lock`]) rmSync(each, { recursive: true, force: true });
    });
    const dead = { PIP_INDEX_URL: "http://127.0.0.1:1/simple", PIP_FIND_LINKS: "", PIP_RETRIES: "0" };
    const headgate = await startHeadgate(dataDir, { PATH: `${base}/bin:${process.env.PATH ?? ""}`, ...dead });
    onTestFinished(async () => void (await headgate.stop()));
    const admin = adminHere({ HEADGATE_DATA_DIR: dataDir });
    const failed =
      /^failed: the installation of numpy, pandas and pyarrow by pip failed .*; the next attempt is in \d min$/;
    await expect.poll(async () => (await admin.json("status")).python, PATIENCE).toMatch(failed);

    const has = await runTool([path, "-c", "import pandas"]);
    if (has.exitCode === 0) return; // the machine's own pandas
    const account = operatorClient(headgate, dataDir);
    const id = await runProgram(account, "import pandas");
    const { attempts } = await account.get(`/commands/${id}/attempts`);
    expect(attempts[0].cause).toMatch(
      /^ModuleNotFoundError: No module named 'pandas' \(line 1\); numpy, pandas and pyarrow cannot be installed for the server's Python: .* by pip failed/,
    );
  });
});
