import { existsSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Fault } from "../../lib/fault.ts";
import { installCommand } from "../../lib/system-programs.ts";
import { jarsFor, parsePinnedJars } from "./extra-jars.ts";
import { makeFinishedFolder, withSetUpLock } from "../../processes/set-up/finished-folder.ts";
import { jvmPartsFor } from "./jvm-parts.ts";
import { argumentFile, parseLauncherOptions, withoutMissingModules } from "./launch-folder.ts";
import { parsePython } from "../../processes/set-up/find-python.ts";
import { parseJavaSettings } from "./find-java.ts";
import { runTool } from "../../processes/set-up/run-tool.ts";
import { printSparsely } from "../../processes/set-up/set-up-step.ts";
import type { SparkHome } from "./spark-home.ts";
import { startSparkSetUp } from "./spark-set-up.ts";

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "headgate-home-"));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

describe("a folder in the cache", () => {
  it("appears only when complete, is readable by others, and replaces the leftovers of a killed set-up", async () => {
    const target = join(folder, "spark-1");
    await expect(makeFinishedFolder(target, () => Promise.reject(new Error("cut off")))).rejects.toThrow("cut off");
    expect(readdirSync(folder)).toEqual([]);

    writeFileSync(join(folder, "spark-1.partial-0123"), "");
    await makeFinishedFolder(target, (unfinished) => {
      expect(existsSync(target)).toBe(false);
      writeFileSync(join(unfinished, "a.jar"), "", { mode: 0o600 });
      return Promise.resolve();
    });
    expect(readdirSync(folder)).toEqual(["spark-1"]);
    expect(statSync(target).mode & 0o777).toBe(0o755);
    expect(statSync(join(target, "a.jar")).mode & 0o777).toBe(0o644);
  });

  it("is created by one process at a time", async () => {
    const lock = join(folder, "lock");
    const { signal } = new AbortController();
    const order: string[] = [];
    const { promise: finish, resolve } = Promise.withResolvers<void>();
    const first = withSetUpLock(
      lock,
      signal,
      () => undefined,
      async () => {
        await finish;
        order.push("first");
      },
    );
    const second = withSetUpLock(lock, signal, resolve, () => Promise.resolve(order.push("second")));
    await Promise.all([first, second]);
    expect(order).toEqual(["first", "second"]);
  });
});

describe("prerequisites", () => {
  const settings = (version: string): string =>
    `Property settings:\n    java.home = /opt/java\n    java.specification.version = ${version}\n    java.vm.version = ${version}.0.1+6\n`;

  it.each([
    ["17", true],
    ["21", true],
    ["25", true],
    ["11", false],
    ["1.8", false],
  ])("Java %s is accepted: %s", (version, taken) => {
    expect(parseJavaSettings(settings(version))?.path).toBe(taken ? "/opt/java/bin/java" : undefined);
  });

  it.each([
    ["/usr/bin/python3 3 10 0", "3.10.0"],
    ["/a b/python3 3 14 1", "3.14.1"],
    ["/usr/bin/python3 3 9 18", undefined],
    ["/usr/bin/python2 2 7 18", undefined],
    ["nonsense", undefined],
  ])("Python %j is accepted as %s", (output, version) => {
    expect(parsePython(output)?.version).toBe(version);
  });

  it.each([
    ["ID=debian\n", true, "apt-get install -y x"],
    ['ID=ubuntu\nID_LIKE="debian"\n', false, "sudo apt-get install -y x"],
    ['ID="rocky"\nID_LIKE="rhel centos fedora"\n', true, "dnf install -y x"],
    ['ID="opensuse-leap"\nID_LIKE="suse opensuse"\n', true, "zypper install -y x"],
    ["ID=plan9\n", true, undefined],
  ])("the message names the install command of %j", (release, asRoot, line) => {
    const names = { apt: "x", dnf: "x", zypper: "x", pacman: "x", apk: "x", brew: "x" };
    expect(installCommand(release, asRoot, names)).toBe(line);
  });
});

describe("the jars that Spark lacks", () => {
  const pinned = ["ivy-2.5.3.jar", "hadoop-client-api-3.4.2.jar", "spark-core_2.13-4.1.4.jar"];

  it("are PostgreSQL's driver and s3a for the pinned Spark", () => {
    const artifacts = jarsFor(pinned).map(({ artifact }) => artifact);
    expect(artifacts).toEqual(expect.arrayContaining(["postgresql", "hadoop-aws", "s3", "sts"]));
  });

  it("do not include s3a if the operator's Spark has another Hadoop or its own s3a", () => {
    const own = pinned.map((name) => name.replace("3.4.2", "3.4.1"));
    expect(jarsFor(own).map(({ artifact }) => artifact)).toEqual(["postgresql"]);
    expect(jarsFor([...pinned, "hadoop-aws-3.4.2.jar", "postgresql-42.7.1.jar"])).toEqual([]);
  });

  it("cannot be listed without their hash", () => {
    expect(() => parsePinnedJars("org.x:y:1\n")).toThrow("an invalid line");
  });
});

it("takes the options of Spark's launcher without its class path and heap", () => {
  const said =
    "\n\0/java\0-cp\0/spark/conf:/spark/jars/*\0-Xmx1g\0--add-opens=a/b=C\0-Dx=y\0org.apache.spark.deploy.SparkSubmit\0p.py\0";
  expect(parseLauncherOptions(said)).toEqual(["--add-opens=a/b=C", "-Dx=y"]);
  expect(argumentFile(["-cp", String.raw`/a b/"c\d`])).toBe('"-cp"\n"/a b/\\"c\\\\d"\n');
});

it("drops options for modules that Java lacks", () => {
  const options = ["--add-modules=jdk.incubator.vector", "--add-opens=a/b=C"];
  expect(withoutMissingModules(options, "java.base@21\njdk.incubator.vector@21\n")).toEqual(options);
  expect(withoutMissingModules(options, "java.base@21\njava.sql@21\n")).toEqual(["--add-opens=a/b=C"]);
});

it("compiles its own classes for each version of Spark and Java, wherever they are installed", () => {
  const java = { path: "/java/bin/java", home: "/java", build: "Debian 17.0.15 amd64" };
  const nameFor = (build: string, ...jars: string[]): string => jvmPartsFor("/cache", { ...java, build }, jars).folder;
  const name = nameFor(java.build, "/spark/jars/spark-core_2.13-4.1.4.jar");
  expect(name).toMatch(/^\/cache\/headgate-jvm-[0-9a-f]{12}$/);
  expect(nameFor(java.build, "/elsewhere/spark-core_2.13-4.1.4.jar")).toBe(name);
  expect(nameFor(java.build, "/spark/jars/spark-core_2.13-4.1.5.jar")).not.toBe(name);
  expect(nameFor("Debian 21.0.1 amd64", "/spark/jars/spark-core_2.13-4.1.4.jar")).not.toBe(name);
});

it("ends a tool and its children when the set-up is stopped", async () => {
  const stop = new AbortController();
  const running = runTool(["/bin/sh", "-c", "echo up; sleep 600 & wait"], {
    signal: stop.signal,
    onLine: () => {
      stop.abort();
    },
  });
  await expect(running).rejects.toThrow("aborted");
});

it("prints a step outside of a terminal once, and again for each tenth of it and for each 200 MB", () => {
  const lines: string[] = [];
  const print = printSparsely((line) => lines.push(line));
  for (const percent of [0, 5, 9, 10, 11, 19, 25]) print({ text: "Downloading", percent, bytes: percent * 1e6 });
  for (const megabytes of [0, 150, 201, 399, 512]) print({ text: "Unpacking", bytes: megabytes * 1e6 });
  expect(lines).toEqual([
    "Downloading",
    "Downloading (10 %)",
    "Downloading (20 %)",
    "Unpacking",
    "Unpacking (200 MB)",
    "Unpacking (400 MB)",
  ]);
});

describe("the set-up in the background", () => {
  const log = pino({ level: "silent" });
  const home = { version: "4.1.4", folder: "/spark" } as SparkHome; // what the state shows of it

  it("reports its progress and failures, tries again and becomes ready", async () => {
    const states: string[] = [];
    let attempts = 0;
    const setUp = startSparkSetUp(
      (_signal, progress) => {
        attempts += 1;
        if (attempts === 1) throw new Fault("unavailable", "Spark needs Java 17 or newer: run apt-get …");
        states.push(setUp.current().detail);
        progress({ text: "Downloading Spark", percent: 12 });
        states.push(setUp.current().detail);
        return Promise.resolve(home);
      },
      { log, retryMs: 1 },
    );
    expect(await setUp.ready).toBe(home);
    expect(states).toEqual(["Spark needs Java 17 or newer: run apt-get …", "Downloading Spark (12 %)"]);
    await expect.poll(() => setUp.current()).toMatchObject({ state: "ready", detail: "Spark 4.1.4" });
    await setUp.stop();
  });

  it("ends at once when the server stops", async () => {
    const setUp = startSparkSetUp(
      (signal) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error))),
      { log },
    );
    await setUp.stop();
    expect(setUp.current().state).toBe("installing");
  });
});
