import { afterEach, expect, test } from "vitest";
import { useServer } from "../../../test/support/given.ts";
import { inParallel } from "../../../test/support/in-parallel.ts";
import { queuedCommands } from "../../../test/support/queued-commands.ts";
import { stubDriver } from "../../../test/support/stub-driver.ts";

/** Twenty commands of 100 MiB fit on the node; neither cap keeps an account from taking all of it. */
const SLOTS = 20;
const given = useServer({
  driver: stubDriver,
  settings: {
    HEADGATE_MEMORY_BUDGET: `${SLOTS * 100}m`,
    HEADGATE_COMMANDS_PER_ACCOUNT: String(SLOTS),
    HEADGATE_COMMANDS_PER_CLUSTER: String(SLOTS),
    HEADGATE_RATE_LIMIT: "0",
  },
});
const PATIENCE = { timeout: 120_000 };
const CROWD = 10_000;
const FEW = 10;
const { submit, cancelAll } = queuedCommands(given);

afterEach(cancelAll, PATIENCE.timeout);

async function countStarted(accountId: number): Promise<number> {
  const [row] = await given.app.services.db.system.query<{ started: number }>(
    "select count(*) as started from command where account_id = $1 and start_time is not null",
    [accountId],
  );
  return row?.started ?? 0;
}

interface Wait {
  readonly seconds: number;
  /** The commands of the other account that were started while this one waited. */
  readonly overtakenBy: number;
}

function waitsBeside(accountId: number, otherId: number): Promise<Wait[]> {
  return given.app.services.db.system.query<Wait>(
    `select extract(epoch from start_time - created_at)::float8 as seconds,
            (select count(*) from command other
             where other.account_id = $2 and other.start_time between command.created_at and command.start_time
            ) as "overtakenBy"
     from command where account_id = $1 order by id`,
    [accountId, otherId],
  );
}

/** Compares ranks, not seconds: how long a command runs depends on the machine, but which one is next does not. */
test("ten commands start as soon as others end, although 10,000 commands of another account wait", async () => {
  const [crowd, few] = [await given.account(), await given.account()];
  const numbers = Array.from({ length: CROWD }, (_, number) => number);
  await inParallel(numbers, 32, async () => void (await submit(crowd, "sleep 1")));
  const before = await countStarted(crowd.accountId);
  await expect.poll(() => countStarted(crowd.accountId), PATIENCE).toBeGreaterThan(before + SLOTS);
  for (let each = 0; each < FEW; each += 1) await submit(few, "sleep 1");
  await expect.poll(() => countStarted(few.accountId), PATIENCE).toBe(FEW);
  const waits = await waitsBeside(few.accountId, crowd.accountId);
  const started = await countStarted(crowd.accountId);
  process.stdout.write(
    `${FEW} commands beside ${CROWD - started} waiting ones: overtaken by ` +
      `${waits.map(({ overtakenBy }) => overtakenBy).join(", ")}; started after ` +
      `${waits.map(({ seconds }) => seconds.toFixed(2)).join(", ")} s\n`,
  );
  expect(CROWD - started).toBeGreaterThan(CROWD / 2); // the others do wait
  expect(Math.max(...waits.map(({ overtakenBy }) => overtakenBy))).toBeLessThanOrEqual(SLOTS);
}, 600_000);
