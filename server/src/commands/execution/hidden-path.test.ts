import { expect, test } from "vitest";
import { commandFiles } from "./command-files.ts";
import { explainHiddenPath } from "./hidden-path.ts";

const files = commandFiles("/data", 7, 1).attempt(1);
const HINT =
  "programs see only the account's storage and their own folder, not the files of the machine or of your computer";
const explained = (cause: string): string => explainHiddenPath(cause, { kind: "bubblewrap" }, files);

test.each([
  ["AnalysisException: [PATH_NOT_FOUND] Path does not exist: file:/home/me/orders.csv. SQLSTATE: 42K03", "orders.csv"],
  ["[LOAD_DATA_PATH_NOT_EXISTS] LOAD DATA input path does not exist: /home/me/orders.csv.", "orders.csv"],
  ["InvalidInputException: Input path does not exist: file:/home/me/a%20b (line 3)", "<name>"],
  ["FileNotFoundError: [Errno 2] No such file or directory: '/Users/me/my orders.csv' (line 2)", "<name>"],
  ["FileNotFoundError: [Errno 2] No such file or directory: '/tmp/../home/me/x' (line 2)", "x"],
  ["can't open file '/home/me/etl.py': [Errno 2] No such file or directory; exit code 2", "etl.py"],
  ["the jar /opt/app.jar does not exist; exit code 101: the main class was not found", "app.jar"],
  ["FileNotFoundException: File file:/opt/app.zip does not exist; exit code 1", "app.zip"],
  ["FileNotFoundException: /mnt/x.csv (No such file or directory) (line 1)", "x.csv"],
  ["NoSuchFileException: /var/data/x.csv (line 1)", "x.csv"],
  ["FileNotFoundError: [Errno 2] No such file or directory: '/data/accounts/70/storage/x'", "x"],
])("%s: names the way in", (cause, name) => {
  expect(explained(cause)).toBe(
    `${cause}; ${HINT}: upload it with PUT /api/v2/files/${name} and read storage:/${name} with Spark`,
  );
});

test.each([
  "[PATH_NOT_FOUND] Path does not exist: file:/data/accounts/7/storage/x.csv. SQLSTATE: 42K03",
  "[PATH_NOT_FOUND] Path does not exist: s3a://bucket/home/x.csv. SQLSTATE: 42K03",
  "[PATH_NOT_FOUND] Path does not exist: hdfs://host/home/x.csv.",
  "FileNotFoundError: [Errno 2] No such file or directory: 'orders.csv'",
  "FileNotFoundError: [Errno 2] No such file or directory: '/headgate/work/orders.csv'",
  "FileNotFoundError: [Errno 2] No such file or directory: '/tmp/orders.csv'",
  "FileNotFoundError: [Errno 2] No such file or directory: '/usr/share/zoneinfo/x'",
  "ZeroDivisionError: division by zero; exit code 1",
])("%s: is left as it is, because nothing was hidden", (cause) => {
  expect(explained(cause)).toBe(cause);
});

test.each([{ kind: "bubblewrap" }, { kind: "none" }] as const)(
  "only Spark knows the names of the storage (%j)",
  (sandbox) => {
    const cause = "FileNotFoundError: [Errno 2] No such file or directory: 'storage:/sales.csv'";
    expect(explainHiddenPath(cause, sandbox, files)).toBe(
      `${cause}; names with storage:/ work only in Spark: read the file with spark.read; toPandas() makes it a DataFrame of pandas`,
    );
  },
);

test("without a sandbox nothing is hidden", () => {
  const cause = "No such file or directory: '/home/me/x'";
  expect(explainHiddenPath(cause, { kind: "none" }, files)).toBe(cause);
});
