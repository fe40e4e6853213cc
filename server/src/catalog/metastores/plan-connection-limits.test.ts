import { describe, expect, test } from "vitest";
import { planConnectionLimits } from "./plan-connection-limits.ts";

type Use = "used" | "wanted" | "idle" | "off";

describe("the connection limits of metastores' roles", () => {
  const limitsOf = (connections: number, reserved: number, uses: readonly Use[]): number[] => {
    const roles = uses.map((use, number) => ({
      name: `${number}`,
      limit: use === "used" || use === "idle" ? 10 : 0,
      isWanted: use === "wanted",
      isIdle: use === "idle",
    }));
    return [...planConnectionLimits({ connections, reserved }, roles).values()];
  };
  const many = <const T>(count: number, value: T): T[] => Array<T>(count).fill(value);

  test.each([
    [
      "roles get the maximum if PostgreSQL reserves all connections that the product needs",
      limitsOf(97, 56, many(100, "off")),
      many(100, 48),
    ],
    ["a single role gets all connections that the product does not need", limitsOf(97, 0, ["off"]), [41]],
    ["all roles get the same if there is enough for all", limitsOf(97, 0, ["used", "off", "idle", "off"]), many(4, 10)],
    ["reserved connections count as the product's", limitsOf(97, 20, many(4, "used")), many(4, 15)],
    ["a role never gets more than 48", limitsOf(497, 0, many(4, "used")), many(4, 48)],
    ["a wanted role comes before idle ones", limitsOf(97, 0, [...many(4, "idle"), "wanted"]), [10, 10, 10, 0, 10]],
    [
      "a wanted role gets no connections if roles in use need them all",
      limitsOf(97, 0, [...many(4, "used"), "wanted"]),
      [...many(4, 10), 0],
    ],
    [
      "a role in use gets all connections if there is not enough room for every unused role",
      limitsOf(97, 0, ["used", ...many(49, "off")]),
      [41, ...many(49, 0)],
    ],
    ["even a small server has connections for one metastore", limitsOf(20, 0, ["wanted", "off"]), [10, 0]],
  ])("%s", (_, limits, expected) => {
    expect(limits).toEqual(expected);
  });

  test("never fall below the need of a role in use, and otherwise leave the product its connections", () => {
    for (const connections of [66, 97, 200]) {
      for (const reserved of [0, 3, 30, 55]) {
        const room = connections - (56 - reserved);
        for (const used of [0, 1, 2, 5, 42]) {
          for (const other of [0, 1, 7, 300]) {
            const uses: Use[] = [...many(used, "used"), ...many(other, "wanted"), ...many(other, "idle")];
            const limits = limitsOf(connections, reserved, uses);
            for (const limit of limits.slice(0, used)) expect(limit).toBeGreaterThanOrEqual(10);
            expect(limits.reduce((all, limit) => all + limit, 0)).toBeLessThanOrEqual(Math.max(room, 10 * used));
          }
        }
      }
    }
  });
});
