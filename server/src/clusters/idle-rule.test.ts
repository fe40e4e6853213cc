import { describe, expect, test } from "vitest";
import { idleEnd, idleTimeoutOf } from "./idle-rule.ts";

const at = (time: string): Date => new Date(`2026-01-31T${time}Z`);

describe("an idle cluster that is up since 10:20", () => {
  const upSince = at("10:20:00");
  test.each([
    // idle since, timeout, end
    ["10:20:00", { hours: 0 }, "11:20:00"],
    ["10:20:01", { hours: 0 }, "11:20:00"],
    ["11:20:00", { hours: 0 }, "11:20:00"],
    ["11:20:01", { hours: 0 }, "12:20:00"],
    ["10:20:00", { hours: 1 }, "11:20:00"],
    ["10:20:01", { hours: 1 }, "12:20:00"],
    ["10:45:00", { hours: 2 }, "13:20:00"],
    ["10:20:00", { hours: 6 }, "16:20:00"],
    ["12:00:00", { hours: 6 }, "18:20:00"],
    ["10:20:00", { seconds: 300 }, "10:25:00"],
    ["11:00:30", { seconds: 7200 }, "13:00:30"],
  ])("and idle since %s ends by %j at %s", (idleSince, timeout, end) => {
    expect(idleEnd({ upSince, idleSince: at(idleSince), timeout })).toEqual(at(end));
  });

  test("does not count idle time before it was up", () => {
    expect(idleEnd({ upSince, idleSince: at("03:00:00"), timeout: { hours: 1 } })).toEqual(at("11:20:00"));
    expect(idleEnd({ upSince, idleSince: at("03:00:00"), timeout: { seconds: 600 } })).toEqual(at("10:30:00"));
  });
});

describe("the effective timeout", () => {
  const none = { hours: null, seconds: null };
  const account = { hours: 2, seconds: 900, countsSeconds: true };
  test.each([
    [none, account, { seconds: 900 }],
    [none, { ...account, seconds: null }, { hours: 2 }],
    [none, { ...account, countsSeconds: false }, { hours: 2 }],
    [{ hours: 1, seconds: null }, account, { hours: 1 }],
    [{ hours: 0, seconds: null }, account, { hours: 0 }],
    [{ hours: 1, seconds: 300 }, account, { seconds: 300 }],
    [{ hours: 1, seconds: 300 }, { ...account, countsSeconds: false }, { hours: 1 }],
    [{ hours: null, seconds: 300 }, { ...account, countsSeconds: false }, { hours: 2 }],
  ])("of the cluster %j and the account %j is %j", (cluster, ofAccount, timeout) => {
    expect(idleTimeoutOf(cluster, ofAccount)).toEqual(timeout);
  });
});
