import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { openRunnerClient } from "../../engines/runner/runner-client.ts";
import { removeTree } from "../../lib/remove-tree.ts";

const END_PATIENCE_MS = 5000;

/** Each of an account's drivers that wait has a folder in it. */
export function standbysFolder(dataDir: string, accountId: string): string {
  return join(dataDir, "accounts", accountId, "standby");
}

/** Settles when nothing of it is left. Returns whether one was there. */
export async function endStandby(folder: string, client = openRunnerClient(folder)): Promise<boolean> {
  if (!existsSync(folder)) return false;
  const view = await client.observe().catch(() => undefined); // its status may be past reading
  client.forsake();
  if (!(await client.untilGone(AbortSignal.timeout(END_PATIENCE_MS)))) await client.kill();
  await removeTree(folder);
  return view?.state === "starting" || view?.state === "waiting";
}

/**
 * Of an account, also from outside of the server that has started them: it sees that they are gone. Returns how many
 * there were.
 */
export async function endStandbysOf(dataDir: string, accountId: number): Promise<number> {
  const folder = standbysFolder(dataDir, String(accountId));
  const names = await readdir(folder).catch(() => []);
  const ended = await Promise.all(names.map((name) => endStandby(join(folder, name))));
  return ended.filter(Boolean).length;
}
