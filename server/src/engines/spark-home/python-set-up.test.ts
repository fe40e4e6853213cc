import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { pino } from "pino";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { stubSparkHome } from "../../../test/support/stub-spark-home.ts";
import { Fault } from "../../lib/fault.ts";
import { findPython } from "../../processes/set-up/find-python.ts";
import { runTool } from "../../processes/set-up/run-tool.ts";
import { adviseOnPackages } from "./python-packages-advice.ts";
import { startPythonSetUp, type PythonSetUp } from "./python-set-up.ts";
import { foldersOfPython, makePythonEnvironment, programPython, pythonEnvironmentFor } from "./program-python.ts";

const log = pino({ level: "silent" });
const quick = { log, firstRetryMs: 1, quietMs: 1 };
const home = stubSparkHome();
const environment = {
  folder: "/python",
  interpreter: "/python/bin/python3",
  packages: "/python/missing",
  pyspark: "",
  archives: [],
};
const withEnvironment = {
  ...home,
  python: { path: "/usr/bin/python3", version: "3.11.2", localPath: "", environment },
};

describe("the packages of Python programs", () => {
  const setUps: PythonSetUp[] = [];
  const start = (options: Parameters<typeof startPythonSetUp>[0]): PythonSetUp => {
    const setUp = startPythonSetUp(options);
    setUps.push(setUp);
    return setUp;
  };
  afterEach(() => Promise.all(setUps.splice(0).map((setUp) => setUp.stop())));

  test("are fetched after Spark when no command runs, and again after a failure, which is shown", async () => {
    const spark = Promise.withResolvers<typeof withEnvironment>();
    let isBusy = true;
    let attempts = 0;
    const failing = Promise.withResolvers<void>();
    const setUp = start({
      ...quick,
      spark: { ready: spark.promise },
      async fetch(_python, { progress }) {
        attempts += 1;
        progress({ text: "Downloading", percent: 12 });
        expect(setUp.current()).toEqual({ state: "installing", detail: "Downloading (12 %)" });
        if (attempts === 1) throw new Fault("unavailable", "pip failed");
        await failing.promise;
      },
    });
    expect(setUp.current()).toMatchObject({ state: "waiting" });
    spark.resolve(withEnvironment);
    let asked = 0;
    setUp.start(() => {
      asked += 1;
      return isBusy;
    });
    await expect.poll(() => asked).toBeGreaterThan(1);
    expect(attempts).toBe(0);
    isBusy = false;
    await expect.poll(() => attempts).toBe(2);
    failing.resolve();
    await expect.poll(() => setUp.current()).toMatchObject({ state: "ready", sinceMs: expect.any(Number) });
  });

  test("say what failed, and when they are tried again", async () => {
    const fetch = (): Promise<void> => Promise.reject(new Fault("unavailable", "pip failed"));
    const setUp = start({ ...quick, firstRetryMs: 90_000, spark: { ready: Promise.resolve(withEnvironment) }, fetch });
    setUp.start(() => false);
    const detail = "pip failed; the next attempt is in 2 min";
    await expect.poll(() => setUp.current()).toEqual({ state: "failed", detail });
  });

  test("say that their set-up failed unexpectedly", async () => {
    const setUp = start({ ...quick, spark: { ready: Promise.reject(new Error("no Spark")) } });
    await expect
      .poll(() => setUp.current())
      .toMatchObject({ state: "failed", detail: expect.stringContaining("failed unexpectedly") });
  });

  test.each([
    ["this machine has no Python for programs", undefined],
    ["there are no packages for Python 3.99.0", { ...withEnvironment.python, version: "3.99.0" }],
    [
      "the disk is full; the next start tries again",
      { ...withEnvironment.python, environment: undefined, whyNoEnvironment: "the disk is full" },
    ],
  ])("are not fetched if %s", async (detail, python) => {
    const setUp = start({
      ...quick,
      spark: { ready: Promise.resolve({ ...home, python }) },
      fetch: () => Promise.reject(new Error("fetched")),
    });
    setUp.start(() => false);
    await expect.poll(() => setUp.current()).toEqual({ state: "absent", detail });
  });

  const began = "2026-11-15T10:00:00.000Z";
  test.each([
    [{ state: "installing", detail: "" }, /are still being installed for the server's Python: run it again/],
    [{ state: "failed", detail: "pip failed" }, /cannot be installed for the server's Python: pip failed; an operator/],
    [
      { state: "ready", detail: "", sinceMs: Date.parse(began) + 1 },
      /have been installed for the server's Python since it began: run it again/,
    ],
  ] as const)("when the set-up is %j, a program that lacks them is told why", (state, advice) => {
    expect(adviseOnPackages(state, began)).toMatch(advice);
  });

  test("are not mentioned if they were there before the program began", () => {
    expect(adviseOnPackages({ state: "ready", detail: "", sinceMs: Date.parse(began) - 1 }, began)).toBeUndefined();
    expect(adviseOnPackages({ state: "ready", detail: "" }, began)).toBeUndefined();
  });
});

describe("the lists of packages", () => {
  const folder = new URL("python-packages/", import.meta.url);

  test("name the same packages for each Python, with a hash for each platform", () => {
    const names = readdirSync(folder);
    expect(names.toSorted()).toEqual(["3.10.txt", "3.11.txt", "3.12.txt", "3.13.txt", "3.14.txt"]);
    for (const name of names) {
      const entries = readFileSync(new URL(name, folder), "utf8")
        .split(/^(?=[a-z])/m)
        .slice(1);
      const hashes = entries.map((entry) => [
        entry.replace(/==[^]*/, ""),
        entry.match(/sha256:[0-9a-f]{64}\b/g)?.length,
      ]);
      expect(Object.fromEntries(hashes)).toEqual({
        numpy: 4,
        pandas: 4,
        pyarrow: 4,
        "python-dateutil": 1,
        pytz: 1,
        six: 1,
        tzdata: 1,
      });
    }
  });
});

const python = await findPython();

describe.skipIf(python === undefined)("the environment of Python programs", () => {
  let cacheDir: string;
  let sparkHome: string;
  beforeEach(() => {
    cacheDir = realpathSync(mkdtempSync(join(tmpdir(), "headgate-python-")));
    sparkHome = join(cacheDir, "spark");
  });
  afterEach(() => rmSync(cacheDir, { recursive: true }));

  const say = async (program: string, text: string, env: Record<string, string> = {}): Promise<string> => {
    const { stdout, output } = await runTool([program, "-c", text], { env: { PATH: "/usr/bin:/bin", ...env } });
    return stdout.trim() === "" ? output.trim() : stdout.trim();
  };

  test("has its packages as soon as they are there, after --py-files and before those of the machine", async () => {
    if (python === undefined) return;
    const made = pythonEnvironmentFor(cacheDir, python, sparkHome);
    expect(pythonEnvironmentFor(cacheDir, { ...python, version: "3.99.1" }, sparkHome).folder).not.toBe(made.folder);
    await makePythonEnvironment(made, python, new AbortController().signal);
    const { localPath } = programPython(python, made);
    expect(await say(localPath, "import headgate_probe")).toContain("No module named");
    mkdirSync(join(made.packages, "headgate_probe"), { recursive: true });
    const find = "import headgate_probe; print(headgate_probe.__path__[0])";
    expect(await say(localPath, find)).toBe(join(made.packages, "headgate_probe"));
    mkdirSync(join(cacheDir, "brought/headgate_probe"), { recursive: true });
    const env = { PYTHONPATH: join(cacheDir, "brought") };
    expect(await say(localPath, find, env)).toBe(join(cacheDir, "brought/headgate_probe"));
    const seen = await say(localPath, "import sys; print(*sys.path, sep='\\n')");
    const own = seen.split("\n").indexOf(made.packages);
    const machine = await say(python.path, "import site; print(*site.getsitepackages(), sep='\\n')");
    for (const folder of machine.split("\n").filter((each) => existsSync(each))) {
      expect(seen.split("\n").indexOf(folder), folder).toBeGreaterThan(own);
    }
    expect(await foldersOfPython(programPython(python, made))).toContain(made.folder);
  });

  test("uses the compiled copy of Spark's modules instead of its archive as soon as it is there", async () => {
    if (python === undefined) return;
    const archive = join(sparkHome, "python/lib/pyspark.zip");
    mkdirSync(dirname(archive), { recursive: true });
    writeFileSync(archive, "zip");
    const made = pythonEnvironmentFor(cacheDir, python, sparkHome);
    writeFileSync(archive, "other");
    expect(pythonEnvironmentFor(cacheDir, python, sparkHome).folder).not.toBe(made.folder);
    await makePythonEnvironment(made, python, new AbortController().signal);
    const find = "import sys; print(*sys.path[1:3])";
    const env = { PYTHONPATH: `/first:${archive}` };
    expect(await say(made.interpreter, find, env)).toBe(`/first ${archive}`);
    mkdirSync(made.pyspark);
    expect(await say(made.interpreter, find, env)).toBe(`/first ${made.pyspark}`);
  });

  test("is made again for an interpreter that an upgrade has moved", async () => {
    if (python === undefined) return;
    const link = join(cacheDir, "python3");
    const linked = { ...python, path: link };
    const newer = join(cacheDir, "newer");
    symlinkSync(python.path, newer);
    symlinkSync(newer, link);
    const made = pythonEnvironmentFor(cacheDir, linked, sparkHome);
    writeFileSync(join(cacheDir, "newest"), "");
    unlinkSync(link);
    symlinkSync(join(cacheDir, "newest"), link);
    expect(pythonEnvironmentFor(cacheDir, linked, sparkHome).folder).not.toBe(made.folder);

    const { signal } = new AbortController();
    await makePythonEnvironment(made, python, signal);
    unlinkSync(made.interpreter);
    symlinkSync(join(cacheDir, "gone"), made.interpreter);
    expect(programPython(linked, made, "why")).toMatchObject({ environment: undefined, whyNoEnvironment: "why" });
    await makePythonEnvironment(made, python, signal);
    expect(programPython(linked, made).localPath).toBe(made.interpreter);
    expect(await say(made.interpreter, "print(1)")).toBe("1");
  });

  test("keeps the packages of the virtual environment that the machine's Python is in", async () => {
    if (python === undefined) return;
    const outer = join(cacheDir, "outer");
    mkdirSync(join(outer, "bin"), { recursive: true });
    symlinkSync(realpathSync(python.path), join(outer, "bin/python3"));
    const machine = dirname(realpathSync(python.path));
    writeFileSync(join(outer, "pyvenv.cfg"), `home = ${machine}\ninclude-system-site-packages = false\n`);
    const inside = { ...python, path: join(outer, "bin/python3") };
    const site = await say(inside.path, "import site; print(site.getsitepackages()[0])");
    expect(site.startsWith(outer), site).toBe(true);
    mkdirSync(join(site, "headgate_probe"), { recursive: true });
    const made = pythonEnvironmentFor(cacheDir, inside, sparkHome);
    await makePythonEnvironment(made, inside, new AbortController().signal);
    const find = "import headgate_probe, sys; print(headgate_probe.__path__[0], *sys.path, sep='\\n')";
    const [found, ...paths] = (await say(made.interpreter, find)).split("\n");
    expect(found).toBe(join(site, "headgate_probe"));
    expect(paths.filter((path) => /^\/usr\/.*(dist|site)-packages/.test(path))).toEqual([]);
    const visible = await foldersOfPython(programPython(inside, made));
    expect(visible).toEqual([dirname(machine), site, made.folder]);
  });
});
