import { existsSync } from "node:fs";
import { afterEach, expect, test } from "vitest";
import { because } from "../../../test/skip-reasons/skip-reasons.ts";
import { mountSmallDisk } from "../../../test/support/small-disk.ts";
import { findProcess } from "../../processes/detached-process/detached-process.ts";
import { makeStubRuns } from "../../processes/runner/stub-run.ts";
import { endStandby } from "./standby-driver.ts";

const runs = makeStubRuns();
const disk = mountSmallDisk(1);
afterEach(async () => {
  await runs.dispose();
  disk.unmount();
});

test.skipIf(!disk.isMounted)(
  "a standby driver can be ended on a full disk, before and after it got its program",
  because("a small disk can only be mounted by root"),
  async () => {
    const start = async () => {
      const run = runs.make(disk.dataDir);
      const runner = await run.start("echo READY; cat; exec sleep 600", {}, { greeting: "READY\n", waitSeconds: 60 });
      await expect.poll(() => run.client.observe()).toMatchObject({ isReady: true });
      return { run, runner };
    };
    const [idle, busy] = [await start(), await start()];
    busy.run.client.order({ input: "", timeoutSeconds: null, checkSeconds: 1, elapsedSeconds: 0 });
    await busy.run.running();
    disk.fill();
    expect([idle, busy].map(({ run }) => run.client.abandon())).toEqual([true, false]);
    await Promise.all([idle, busy].map(({ run }) => endStandby(run.folder)));
    for (const { run, runner } of [idle, busy]) {
      expect([existsSync(run.folder), await findProcess(runner)]).toEqual([false, "gone"]);
    }
  },
);
