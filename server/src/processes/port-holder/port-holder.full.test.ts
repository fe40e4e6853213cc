import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test, vi } from "vitest";
import { because } from "../../../test/skip-reasons/skip-reasons.ts";
import { aPortToHold, ANSWER, GET } from "../../../test/support/port-to-hold.ts";
import { findPython, howToInstallPython } from "../set-up/find-python.ts";

const python = await findPython();

afterEach(() => vi.unstubAllEnvs());

describe.skipIf(python === undefined)("the holder of a port", because(howToInstallPython()), () => {
  test("kills a previous holder that neither hands its sockets over nor ends", async ({ onTestFinished }) => {
    const { hold, say, startOldHolder } = await aPortToHold(onTestFinished);
    const old = await startOldHolder("ignores");
    const held = await hold();
    await old.saidUntilItsEnd();
    expect(await say(GET)).toBe(ANSWER);
    await held.release();
  });

  test("keeps the port if the next server asks for all addresses", async ({ onTestFinished }) => {
    const { port, hold, say, pretendRunner } = await aPortToHold(onTestFinished);
    pretendRunner();
    await (await hold()).release();
    await expect(hold(port, "0.0.0.0")).rejects.toMatchObject({ code: "EADDRINUSE", address: "0.0.0.0" });
    expect(await say(GET)).toBe(ANSWER);
  });

  test("uses another Python if the first one does not respond", async ({ onTestFinished }) => {
    const { folder, hold, say } = await aPortToHold(onTestFinished);
    const programs = join(folder, "bin");
    mkdirSync(programs);
    writeFileSync(join(programs, "python3"), "#!/bin/sh\nexec sleep 600\n");
    chmodSync(join(programs, "python3"), 0o755);
    vi.stubEnv("PATH", `${programs}:${process.env["PATH"] ?? ""}`);
    const held = await hold();
    expect(await say(GET)).toBe(ANSWER);
    await held.release();
    vi.unstubAllEnvs(); // the cleanup runs Python, too
  });
});
