import { pino } from "pino";
import { expect, test } from "vitest";
import type { Database } from "../../db/database.ts";
import { storeFault } from "../../db/store-fault.ts";
import { TimelineWatch } from "./timeline-watch.ts";

/** A PostgreSQL that does not name its timeline, for the reason with this SQLSTATE. */
function watchWithout(
  state: string,
  isInRecovery: boolean,
): { watch: TimelineWatch; asked: string[]; lines: string[] } {
  const [asked, lines]: [string[], string[]] = [[], []];
  const refusal = storeFault(Object.assign(new Error("refused"), { code: state })) as Error; // it was one before
  const system = {
    query(text: string): Promise<object[]> {
      asked.push(text);
      if (text.includes("pg_is_in_recovery")) return Promise.resolve([{ isInRecovery }]);
      return Promise.reject(refusal);
    },
  };
  const log = pino({ base: null }, { write: (line: string) => void lines.push(line) });
  return { watch: new TimelineWatch({ system } as unknown as Database, log), asked, lines };
}

test.each(["55000", "42501", "0A000", "42883", "XX000"])(
  "a node works with a PostgreSQL that does not expose its timeline (%s), and says so once",
  async (state) => {
    const { watch, asked, lines } = watchWithout(state, false);
    await watch.check();
    const askedOnce = asked.length;
    await watch.check();
    expect(asked).toHaveLength(askedOnce);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain("cannot detect failovers: this PostgreSQL does not expose its timeline");
  },
);

test("a standby is asked again, because it has a timeline once it is the primary", async () => {
  const { watch, asked, lines } = watchWithout("55000", true);
  await watch.check();
  await watch.check();
  expect(asked).toHaveLength(4);
  expect(lines).toEqual([]);
});

test("an outage does not end the watch", async () => {
  const { watch } = watchWithout("57P01", false);
  await expect(watch.check()).rejects.toMatchObject({ code: "unavailable" });
  await expect(watch.check()).rejects.toMatchObject({ code: "unavailable" });
});
