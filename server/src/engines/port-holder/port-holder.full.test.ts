import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test, vi } from "vitest";
import { because } from "../../../test/skip-reasons/skip-reasons.ts";
import { aPlace, ANSWER, GET } from "../../../test/support/held-place.ts";
import { findPython, howToInstallPython } from "../set-up/find-python.ts";

const python = await findPython();

afterEach(() => vi.unstubAllEnvs());

describe.skipIf(python === undefined)("the holder of a port", because(howToInstallPython()), () => {
  test("kills one that neither hands its sockets over nor ends", async ({ onTestFinished }) => {
    const { hold, say, startOldHolder } = await aPlace(onTestFinished);
    const old = await startOldHolder("ignores");
    const held = await hold();
    await old.saidUntilItsEnd();
    expect(await say(GET)).toBe(ANSWER);
    await held.release();
  });

  test("keeps the port when the next server wants all addresses of it", async ({ onTestFinished }) => {
    const { port, hold, say, pretendRunner } = await aPlace(onTestFinished);
    pretendRunner();
    await (await hold()).release();
    await expect(hold(port, "0.0.0.0")).rejects.toMatchObject({ code: "EADDRINUSE", address: "0.0.0.0" });
    expect(await say(GET)).toBe(ANSWER);
  });

  test("runs with another Python when the first one says nothing", async ({ onTestFinished }) => {
    const { folder, hold, say } = await aPlace(onTestFinished);
    const programs = join(folder, "bin");
    mkdirSync(programs);
    writeFileSync(join(programs, "python3"), "#!/bin/sh\nexec sleep 600\n");
    chmodSync(join(programs, "python3"), 0o755);
    vi.stubEnv("PATH", `${programs}:${process.env["PATH"] ?? ""}`);
    const held = await hold();
    expect(await say(GET)).toBe(ANSWER);
    await held.release();
    vi.unstubAllEnvs(); // the clean-up runs Python too
  });
});
