import { afterAll, expect, test } from "vitest";
import { useServer } from "../../../test/support/given.ts";
import { inParallel } from "../../../test/support/in-parallel.ts";
import { queuedCommands } from "../../../test/support/queued-commands.ts";
import { stubDriver } from "../../../test/support/stub-driver.ts";

/** Twenty commands of 100 MiB fit on the node; neither cap keeps an account from taking all of it. */
const given = useServer({
  driver: stubDriver,
  settings: {
    HEADGATE_MEMORY_BUDGET: "2000m",
    HEADGATE_COMMANDS_PER_ACCOUNT: "20",
    HEADGATE_COMMANDS_PER_CLUSTER: "20",
    HEADGATE_RATE_LIMIT: "0",
  },
});
const PATIENCE = { timeout: 120_000 };
const CROWD = 10_000;
const FEW = 10;
const { submit, cancelAll } = queuedCommands(given);

afterAll(cancelAll);

interface Waits {
  readonly waited: number;
  readonly ran: number | null;
}

/** Seconds, of the commands that have started. */
function waits(accountId: number): Promise<Waits[]> {
  return given.app.services.db.system.query(
    `select extract(epoch from start_time - created_at)::float8 as waited,
            extract(epoch from end_time - start_time)::float8 as ran
     from command where account_id = $1 and start_time is not null`,
    [accountId],
  );
}

test("ten commands start in the time in which one place becomes free, though 10,000 of another account wait", async () => {
  const [crowd, few] = [await given.account(), await given.account()];
  const numbers = Array.from({ length: CROWD }, (_, number) => number);
  await inParallel(numbers, 32, async () => void (await submit(crowd, "sleep 1")));
  await expect.poll(async () => (await waits(crowd.accountId)).length, PATIENCE).toBeGreaterThan(20);
  for (let each = 0; each < FEW; each += 1) await submit(few, "sleep 1");
  await expect.poll(async () => (await waits(few.accountId)).length, PATIENCE).toBe(FEW);
  const [ofFew, ofCrowd] = [await waits(few.accountId), await waits(crowd.accountId)];
  const longestRun = Math.max(...ofCrowd.map(({ ran }) => ran ?? 0));
  const longestWait = Math.max(...ofFew.map(({ waited }) => waited));
  process.stdout.write(
    `ten commands beside ${CROWD}: started after ${ofFew.map(({ waited }) => waited.toFixed(2)).join(", ")} s; ` +
      `a place of the other account is held for up to ${longestRun.toFixed(2)} s\n`,
  );
  // The node looks once a second at the latest.
  expect(longestWait).toBeLessThan(longestRun + 1);
}, 600_000);
