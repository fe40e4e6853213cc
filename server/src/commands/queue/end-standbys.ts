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

/** Settles when the process and its folder are gone. Returns whether a driver was starting or waiting there. */
export async function endStandby(folder: string, client = openRunnerClient(folder)): Promise<boolean> {
  if (!existsSync(folder)) return false;
  const view = await client.observe().catch(() => undefined); // its status may be unreadable
  client.forsake();
  if (!(await client.untilGone(AbortSignal.timeout(END_PATIENCE_MS)))) await client.kill();
  await removeTree(folder);
  return view?.state === "starting" || view?.state === "waiting";
}

/**
 * Ends the standby drivers of an account. A process other than the server may call it: the server notices their end.
 * Returns how many there were.
 */
export async function endStandbysOf(dataDir: string, accountId: number): Promise<number> {
  const folder = standbysFolder(dataDir, String(accountId));
  const names = await readdir(folder).catch(() => []);
  const ended = await Promise.all(names.map((name) => endStandby(join(folder, name))));
  return ended.filter(Boolean).length;
}
