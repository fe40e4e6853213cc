import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { useServer } from "../../../test/support/given.ts";
import { submitCopy, withStubCopies } from "../../../test/support/stub-copy.ts";
import { commandFiles } from "../execution/command-files.ts";

const given = useServer({ commandKinds: withStubCopies, isIsolated: false });
const PATIENCE = { timeout: 45_000 };

test("a server removes the journal of a copy that was cancelled between two attempts, within seconds", async () => {
  const account = await given.account();
  const id = await submitCopy(account, "exit 1", { retry: 1, retry_delay: 5 });
  const ended = "select from command_attempt where command_id = $1 and ended_at is not null";
  await expect.poll(() => given.app.services.db.system.query(ended, [id]), PATIENCE).toHaveLength(1);
  const journal = join(commandFiles(given.dataDir, account.accountId, id).folder, "copy");
  expect(existsSync(journal)).toBe(true);
  await account.put(`/commands/${id}`);
  await expect.poll(() => existsSync(journal), PATIENCE).toBe(false);
});
