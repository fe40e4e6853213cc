import { expect } from "vitest";
import type { AccountClient } from "./given.ts";
import { waitForCommandEnd } from "./wait-for-command-end.ts";

/** Runs a Python program in a driver of its own to its end, which must be `done`, and returns its output. */
export async function runSparkProgram(
  account: AccountClient,
  program: string,
  more: Record<string, unknown> = {},
): Promise<string> {
  const { id } = await account.post("/commands", {
    command_type: "SparkCommand",
    language: "python",
    program,
    arguments: "--driver-memory 1g", // no driver is kept waiting for the next program of this kind
    ...more,
  });
  const command = await waitForCommandEnd(account, id);
  const { error_log: log } = await account.get(`/commands/${id}/error_logs`);
  expect(command.status, log).toBe("done");
  const { results } = await account.get(`/commands/${id}/results`);
  return results;
}
