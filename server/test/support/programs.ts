import { expect } from "vitest";
import type { Client } from "./client.ts";
import { waitForCommandEnd } from "./wait-for-command-end.ts";

/** With the stub driver the text is a shell program. */
export async function submitProgram(account: Client, program: string, more: object = {}): Promise<number> {
  const { id } = await account.post("/commands", {
    command_type: "SparkCommand",
    language: "python",
    program,
    ...more,
  });
  return id;
}

/** Submits the program and waits for its end, whatever its status. */
export async function runProgram(account: Client, program: string, more: object = {}): Promise<number> {
  const id = await submitProgram(account, program, more);
  expect((await waitForCommandEnd(account, id)).status).toMatch(/^(done|error)$/);
  return id;
}
