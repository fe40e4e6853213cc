import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, vi } from "vitest";
import type { AccountClient, Given } from "./given.ts";
import { submitProgram } from "./programs.ts";

/** Runs until `letGo`, then `after`. For the stub driver. */
export function gatedProgram(after = "true"): string {
  return `while [ ! -e "$JOURNAL.$COMMAND" ]; do sleep 0.05; done; ${after}`;
}

/** Helpers for tests of the queue, for a server with the stub driver. */
export interface QueuedCommands {
  readonly submit: (account: AccountClient, program: string, more?: Record<string, unknown>) => Promise<number>;
  /** Lets the program continue once the command has been claimed. */
  readonly letGo: (account: AccountClient, id: number) => Promise<void>;
  /** The statuses of these commands, in the same order. */
  readonly statuses: (ids: readonly number[]) => Promise<string[]>;
  /** Also waits until no command is running. */
  readonly cancelAll: () => Promise<void>;
}

const PATIENCE = { timeout: 45_000 };

export function queuedCommands(given: Given): QueuedCommands {
  return {
    submit: submitProgram,
    async letGo(account, id) {
      const storage = join(given.dataDir, "accounts", String(account.accountId), "storage");
      await vi.waitUntil(() => existsSync(storage), PATIENCE); // created with the folders of the run
      writeFileSync(join(storage, `journal.${id}`), "");
    },
    async statuses(ids) {
      const rows = await given.app.services.db.system.query<{ id: number; status: string }>(
        "select id, status from command where id = any ($1)",
        [ids],
      );
      return ids.map((id) => rows.find((row) => row.id === id)?.status ?? "absent");
    },
    async cancelAll() {
      const { db, commandEvents } = given.app.services;
      await db.system.query(
        `update command set status = case when node_id is null then 'cancelled' else 'cancelling' end,
           end_time = case when node_id is null then now() end where end_time is null`,
      );
      commandEvents.wake();
      await expect.poll(() => db.system.query("select id from command where end_time is null"), PATIENCE).toEqual([]);
    },
  };
}
