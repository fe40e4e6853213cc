import { expect, test } from "vitest";
import { useServer } from "../../../test/support/given.ts";
import { gatedProgram, queuedCommands } from "../../../test/support/queued-commands.ts";
import { stubDriver } from "../../../test/support/stub-driver.ts";

/** Less than the pause between two regular polls of the queue, and much more than a repetition without a pause takes. */
const MIN_ADOPTION_PAUSE_MS = 500;
const PATIENCE = { timeout: 45_000 };

/** When the node began to supervise the run: at its start, then at each adoption. */
const supervisedAt: number[] = [];
let isUnreadable = false;
const given = useServer({
  driver: {
    ...stubDriver,
    followProgress: () => {
      supervisedAt.push(performance.now());
      return () => (isUnreadable ? Promise.reject(new Error("progress cannot be read")) : Promise.resolve(0));
    },
  },
});
const { submit, letGo } = queuedCommands(given);

test("a run whose supervision keeps failing is adopted once per regular poll, and still runs to its end", async () => {
  const account = await given.account();
  const id = await submit(account, gatedProgram("echo end"));
  await expect.poll(() => account.get(`/commands/${id}`), PATIENCE).toMatchObject({ pid: expect.any(Number) });
  isUnreadable = true;
  await expect.poll(() => supervisedAt.length, PATIENCE).toBeGreaterThanOrEqual(4);
  isUnreadable = false;
  // The first adoption may follow its failure at once, as a regular poll may be due just then.
  const adoptedAt = supervisedAt.slice(1);
  const pausesMs = adoptedAt.slice(1).map((at, index) => at - (adoptedAt[index] ?? at));
  expect(pausesMs.filter((ms) => ms < MIN_ADOPTION_PAUSE_MS)).toEqual([]);
  await letGo(account, id);
  expect(await account.get(`/commands/${id}?wait_seconds=45`)).toMatchObject({ status: "done" });
  expect(await account.get(`/commands/${id}/attempts`)).toMatchObject({ attempts: [{ number: 1, cause: null }] });
});
