import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { because } from "../../../test/skip-reasons/skip-reasons.ts";
import { findPip, howToInstallPython } from "./find-python.ts";
import { fetchWheel } from "./pip-install.ts";
import { mustRun } from "./run-tool.ts";

const pip = await findPip();
const WHEEL = "probe-1.0-py3-none-any.whl";

/** Returns its SHA-256. */
async function makeWheel(folder: string, python: string): Promise<string> {
  const info = "probe-1.0.dist-info";
  mkdirSync(join(folder, info));
  writeFileSync(join(folder, "probe.py"), "");
  writeFileSync(join(folder, info, "METADATA"), "Metadata-Version: 2.1\nName: probe\nVersion: 1.0\n");
  writeFileSync(join(folder, info, "WHEEL"), "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n");
  writeFileSync(join(folder, info, "RECORD"), `probe.py,,\n${info}/METADATA,,\n${info}/WHEEL,,\n${info}/RECORD,,\n`);
  await mustRun("the wheel", [python, "-m", "zipfile", "-c", WHEEL, "probe.py", info], { cwd: folder });
  return createHash("sha256")
    .update(readFileSync(join(folder, WHEEL)))
    .digest("hex");
}

test.skipIf(pip === undefined)(
  "a wheel is installed only if its hash is the pinned one",
  because(howToInstallPython()),
  async () => {
    const base = mkdtempSync(join(tmpdir(), "headgate-wheel-"));
    onTestFinished(() => rmSync(base, { recursive: true }));
    const [index, cacheDir] = [join(base, "index"), join(base, "cache")];
    mkdirSync(index);
    mkdirSync(cacheDir);
    const sha256 = await makeWheel(index, pip?.[0] ?? "");
    vi.stubEnv("PIP_NO_INDEX", "1");
    vi.stubEnv("PIP_FIND_LINKS", index);
    onTestFinished(() => void vi.unstubAllEnvs());
    const context = { cacheDir, signal: new AbortController().signal, progress: () => undefined };
    const wheel = { name: "probe", version: "1.0", title: "Probe", bytes: 1000, sha256: [sha256], timeoutMs: 60_000 };

    const changed = { ...wheel, sha256: ["0".repeat(64)] };
    const refusal = await fetchWheel(changed, context).catch((error: unknown) => error);
    expect(refusal).toMatchObject({ cause: { message: expect.stringMatching(/DO NOT MATCH THE HASHES/i) } });
    expect(readdirSync(cacheDir)).toEqual(["probe-1.0.lock"]);

    await fetchWheel(wheel, context);
    expect(readdirSync(join(cacheDir, "probe-1.0"))).toContain("probe.py");
  },
);
