import { describe, expect, test, vi } from "vitest";
import { useServer, type AccountClient } from "../../test/support/given.ts";

/** No driver runs programs here, so a command stays in the state that a test gives it. */
const given = useServer();
const PATIENCE = { timeout: 45_000, interval: 20 };

const BEFORE_IT_BEGAN = "the command was cancelled before it began";
const BETWEEN_ATTEMPTS = "the command was cancelled while it waited for its next attempt";
const UNDER_WAY = "the command is being cancelled";

async function submit(account: AccountClient): Promise<number> {
  return (await account.post("/commands", { command_type: "SparkCommand", language: "python", program: "1" })).id;
}

/** Inserts the row of another live node. */
async function otherNode(): Promise<string> {
  const [row] = await given.app.services.db.system.query<{ id: string }>(
    `insert into node (id, host, boot_id, memory_budget_mib, version)
     values (gen_random_uuid(), 'other', 'boot', 1000, '1') returning id`,
  );
  return row?.id ?? "";
}

/** Columns of a command, as the queue would write them. */
const STATES = {
  "waits for the first time": "status = 'waiting'",
  "was released by its node before it began": "status = 'running', fence = 1",
  "waits for its next attempt": "status = 'running', start_time = now(), attempt = 1, due_at = now() + interval '1 h'",
  "is claimed and not begun": "status = 'running', node_id = $2",
  runs: "status = 'running', node_id = $2, start_time = now(), handle = '{}'",
  "is being cancelled already": "status = 'cancelling', node_id = $2, start_time = now(), handle = '{}'",
  "is done": "status = 'done', start_time = now(), end_time = now()",
  "has failed": "status = 'error', start_time = now(), end_time = now()",
  "is cancelled already": "status = 'cancelled', end_time = now()",
} as const;
type State = keyof typeof STATES;

const ANSWERS: Record<State, [status: string, killSucceeded: boolean, result: string]> = {
  "waits for the first time": ["cancelled", true, BEFORE_IT_BEGAN],
  "was released by its node before it began": ["cancelled", true, BEFORE_IT_BEGAN],
  "waits for its next attempt": ["cancelled", true, BETWEEN_ATTEMPTS],
  "is claimed and not begun": ["cancelling", true, UNDER_WAY],
  runs: ["cancelling", true, UNDER_WAY],
  "is being cancelled already": ["cancelling", true, UNDER_WAY],
  "is done": ["done", false, "the command has ended already: done"],
  "has failed": ["error", false, "the command has ended already: error"],
  "is cancelled already": ["cancelled", false, "the command has ended already: cancelled"],
};

function expected(state: State): object {
  const [status, killSucceeded, result] = ANSWERS[state];
  return { status, kill_succeeded: killSucceeded, result };
}

function updateTo(state: State): string {
  return `update command set ${STATES[state]} where id = $1 and ($2::uuid is null or true)`;
}

describe("PUT /api/v1.2/commands/<id> reports the outcome of the cancel", () => {
  test.each(Object.keys(STATES) as State[])("for a command that %s", async (state) => {
    const [account, node] = [await given.account(), await otherNode()];
    const id = await submit(account);
    await given.app.services.db.system.query(updateTo(state), [id, node]);
    expect(await account.put(`/commands/${id}`, { status: "kill" })).toMatchObject({ id, ...expected(state) });
  });

  test.each(Object.keys(STATES) as State[])(
    "for a command that waited when the request came, and meanwhile %s",
    async (state) => {
      const [account, node] = [await given.account(), await otherNode()];
      const id = await submit(account);
      const { db } = given.app.services;
      const answer = await db.asSystem(async (tx) => {
        await tx.query(updateTo(state), [id, node]);
        const asked = account.put(`/commands/${id}`).reply();
        const waitsForUs =
          "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
        await vi.waitFor(async () => expect(await db.system.query(waitsForUs)).toHaveLength(1), PATIENCE);
        return { asked };
      });
      expect((await answer.asked).body).toMatchObject({ id, ...expected(state) });
    },
  );
});
