import { setImmediate as turn } from "node:timers/promises";
import { pino } from "pino";
import { expect, test, vi } from "vitest";
import { stubDriver } from "../../../test/support/stub-driver.ts";
import { stubStandby } from "../../../test/support/stub-standby.ts";
import { UNLIMITED } from "../../processes/runner/allowance.ts";
import { openSandbox } from "../../processes/sandbox/sandbox.ts";
import type { ProgramDriver } from "./program-driver.ts";
import { StandbyDrivers } from "./standby-drivers.ts";

/** No driver is ever started: there is no memory for it, or its launch is never prepared. */
function openStandbys(standby: NonNullable<ProgramDriver["standby"]>, log = pino({ enabled: false })): StandbyDrivers {
  return new StandbyDrivers({
    dataDir: "/nowhere",
    driver: { ...stubDriver, standby },
    sandbox: openSandbox("none", { kind: "missing", reason: "" }),
    limits: { leaseFile: null, leaseSeconds: 1, logLimitBytes: 1, graceSeconds: 1, checkSeconds: 1 },
    allowance: UNLIMITED,
    orphan: null,
    log,
    now: () => 0,
  });
}

async function endProgram(standbys: StandbyDrivers, accountId: number): Promise<void> {
  const scope = { accountId, clusterId: 1, appId: null };
  expect(await standbys.take(scope, "any", "/nowhere/attempt")).toBe(false);
  standbys.noteEnd(scope);
}

test("a driver that does not fit is prepared once and does not delay the others", async () => {
  const asked: number[] = [];
  const standbys = openStandbys((scope, folders) => {
    asked.push(scope.accountId);
    return stubStandby().standby?.(scope, folders) ?? Promise.resolve(undefined);
  });
  const look = async (spareMiB: number): Promise<void> => {
    standbys.keepWithin({ freeMiB: 300, spareMiB });
    for (let turns = 0; turns < 5; turns += 1) await turn();
  };
  await endProgram(standbys, 1);
  await endProgram(standbys, 2);
  await look(0);
  expect(asked).toEqual([]);
  await vi.waitFor(async () => {
    await look(50);
    expect(asked).toEqual([1, 2]);
  }, 20_000);
  for (let looks = 0; looks < 10; looks += 1) await look(99);
  expect(asked).toEqual([1, 2]);
  await endProgram(standbys, 1);
  await look(50);
  expect(asked).toEqual([1, 2, 1]); // what it is made of may have changed since
  await standbys.close();
});

test("a driver that is being prepared does not delay the stop", async () => {
  let isAsked = false;
  const standbys = openStandbys(() => {
    isAsked = true;
    return new Promise(() => undefined); // its account's metastore never comes up
  });
  await endProgram(standbys, 1);
  standbys.keepWithin({ freeMiB: 300, spareMiB: 300 });
  expect(isAsked).toBe(true);
  await standbys.close();
});

test("a driver that cannot be prepared is logged with its place, by which operators filter", async () => {
  const logged: string[] = [];
  const log = pino({ base: null }, { write: (line: string) => void logged.push(line) });
  const standbys = openStandbys(() => Promise.reject(new Error("no metastore")), log);
  await endProgram(standbys, 1);
  standbys.keepWithin({ freeMiB: 300, spareMiB: 300 });
  await vi.waitFor(() => expect(logged).toHaveLength(1));
  expect(JSON.parse(logged[0] ?? "")).toMatchObject({ place: { accountId: 1, clusterId: 1, appId: null } });
  await standbys.close();
});
