import { setImmediate as turn } from "node:timers/promises";
import { pino } from "pino";
import { expect, test, vi } from "vitest";
import { stubDriver } from "../../../test/support/stub-driver.ts";
import { stubStandby } from "../../../test/support/stub-standby.ts";
import { openSandbox } from "../../engines/sandbox/sandbox.ts";
import { StandbyDrivers } from "./standby-drivers.ts";

/** Each is asked what one of its own would be made of, and none is ever started: there is no room for any. */
test("a driver that does not fit is asked for once, and keeps none behind it waiting", async () => {
  const asked: number[] = [];
  const standbys = new StandbyDrivers({
    dataDir: "/nowhere",
    driver: {
      ...stubDriver,
      standby(place, folders) {
        asked.push(place.accountId);
        return stubStandby().standby?.(place, folders) ?? Promise.resolve(undefined);
      },
    },
    sandbox: openSandbox("none", { kind: "missing", reason: "" }),
    limits: { leaseFile: null, leaseSeconds: 1, logLimitBytes: 1, graceSeconds: 1, checkSeconds: 1 },
    log: pino({ enabled: false }),
    now: () => 0,
  });
  const endProgram = async (accountId: number): Promise<void> => {
    const place = { accountId, clusterId: 1, appId: null };
    expect(await standbys.take(place, "any", "/nowhere/attempt")).toBe(false);
    standbys.noteEnd(place);
  };
  const look = async (spareMiB: number): Promise<void> => {
    standbys.keepWithin({ freeMiB: 300, spareMiB });
    for (let turns = 0; turns < 5; turns += 1) await turn();
  };
  await endProgram(1);
  await endProgram(2);
  await look(0);
  expect(asked).toEqual([]);
  await vi.waitFor(async () => {
    await look(50);
    expect(asked).toEqual([1, 2]);
  });
  for (let looks = 0; looks < 10; looks += 1) await look(99);
  expect(asked).toEqual([1, 2]);
  await endProgram(1);
  await look(50);
  expect(asked).toEqual([1, 2, 1]); // what it is made of may have changed since
  await standbys.close();
});
