import type { Client } from "./client.ts";

/** One request waits for at most 60 seconds; a cold Spark on a busy machine can take longer. */
const MOST_REQUESTS = 4;

/** Waits for the end of the command and returns its last state. */
export async function endedCommand(account: Client, id: number) {
  let command = await account.get(`/commands/${id}?wait_seconds=60`);
  for (let asked = 1; command.end_time === null && asked < MOST_REQUESTS; asked += 1) {
    command = await account.get(`/commands/${id}?wait_seconds=60`);
  }
  return command;
}
