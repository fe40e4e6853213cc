import type { Client } from "./client.ts";

/** One request waits for at most 60 seconds; a cold Spark on a busy machine can take longer. */
const MAX_REQUESTS = 4;

/** Waits up to four minutes for the command to end. Returns its latest state, which is not final if the time ran out. */
export async function waitForCommandEnd(account: Client, id: number) {
  let command = await account.get(`/commands/${id}?wait_seconds=60`);
  for (let asked = 1; command.end_time === null && asked < MAX_REQUESTS; asked += 1) {
    command = await account.get(`/commands/${id}?wait_seconds=60`);
  }
  return command;
}
