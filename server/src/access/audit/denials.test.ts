import { pino } from "pino";
import { expect, test } from "vitest";
import { useServer } from "../../../test/support/given.ts";
import { systemClock } from "../../lib/clock.ts";
import type { Caller } from "../caller.ts";
import { gatherDenials } from "./denials.ts";

const given = useServer();

function callerOf(accountId: number, tokenId: number): Caller {
  return {
    accountId,
    tokenId,
    userId: 1,
    membershipId: 1,
    email: `token${tokenId}@example.test`,
    isOperator: false,
    groups: new Set(),
    statements: [],
    features: new Set(),
    address: "192.0.2.1",
    requestId: `request-${tokenId}`,
  };
}

test("all collected denials are written together, even if one account has been deleted meanwhile", async () => {
  const { db } = given.app.services;
  const [account, other] = [await given.account(), await given.account()];
  const denials = gatherDenials(db.system, systemClock, pino({ level: "silent" }));
  const callers = [
    callerOf(account.accountId, 900_001),
    callerOf(987_654_321, 900_002),
    callerOf(other.accountId, 900_003),
  ];
  for (const caller of callers) for (const operation of ["b", "a", "b"]) denials.add(caller, operation);
  await denials.flush();
  for (const [client, tokenId] of [
    [account, 900_001],
    [other, 900_003],
  ] as const) {
    const { audit_events: events } = await client.get("/api/v2/audit_events");
    const shown = events.map(({ operation, count, email, request_id }: Record<string, unknown>) => ({
      operation,
      count,
      email,
      request_id,
    }));
    const of = { email: `token${tokenId}@example.test`, request_id: `request-${tokenId}` };
    expect(shown).toEqual([
      { operation: "a", count: 1, ...of },
      { operation: "b", count: 2, ...of },
    ]);
  }
});
