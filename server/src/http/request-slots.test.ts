import { describe, expect, test } from "vitest";
import { RequestSlots } from "./request-slots.ts";

const CONNECTIONS = 4000;

/** How many slots requests of these owners get until one is refused, and the refusal. */
function fill(slots: RequestSlots, kind: "follow" | "stream", owners: readonly string[]) {
  for (let taken = 0; ; taken += 1) {
    const { requireSlot } = slots.ofRequest(owners, () => undefined);
    try {
      requireSlot(kind);
    } catch (refusal) {
      return { taken, refusal };
    }
  }
}

describe.each([
  {
    kind: "stream",
    user: 25,
    account: 50,
    node: 400,
    owner: /^You or your account/,
    server: /^The server has too many/,
  },
  { kind: "follow", user: 10, account: 20, node: 200, owner: /logs are being followed:/, server: /on the server/ },
] as const)("slots of the kind $kind", ({ kind, user, account, node, owner, server }) => {
  test("are limited for a user and an account", () => {
    const slots = new RequestSlots(CONNECTIONS);
    const refusal = expect.objectContaining({
      code: "rate-limited",
      publicMessage: expect.stringMatching(owner),
      retryAfterSeconds: 30,
    });
    expect(fill(slots, kind, ["user 1", "account 1"])).toEqual({ taken: user, refusal });
    expect(fill(slots, kind, ["user 1", "account 2"])).toEqual({ taken: 0, refusal });
    expect(fill(slots, kind, ["user 2", "account 1"])).toEqual({ taken: account - user, refusal });
    expect(fill(slots, kind, ["user 3", "account 1"])).toEqual({ taken: 0, refusal });
  });

  test("of the node run out only after those of eight accounts, and the refusal is then 503", () => {
    const slots = new RequestSlots(CONNECTIONS);
    const accounts = node / account;
    expect(accounts).toBeGreaterThanOrEqual(8);
    for (let id = 0; id < accounts; id += 1) {
      for (const name of ["a", "b"]) {
        expect(fill(slots, kind, [`user ${name}${id}`, `account ${id}`])).toMatchObject({ taken: user });
      }
    }
    expect(fill(slots, kind, ["user c", "account c"])).toEqual({
      taken: 0,
      refusal: expect.objectContaining({
        code: "unavailable",
        publicMessage: expect.stringMatching(server),
        retryAfterSeconds: 30,
      }),
    });
  });
});

test("with few connections, a download of one account leaves slots for those of seven others", () => {
  const slots = new RequestSlots(10);
  for (let id = 0; id < 8; id += 1) {
    expect(fill(slots, "stream", [`user ${id}`, `account ${id}`])).toMatchObject({ taken: 1 });
  }
});
