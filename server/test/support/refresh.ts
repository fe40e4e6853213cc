import { expect } from "vitest";
import type { Client } from "./client.ts";
import { waitForCommandEnd } from "./wait-for-command-end.ts";

export interface Refreshed {
  readonly id: number;
  /** `partition → location`, according to its result. */
  readonly added: Readonly<Record<string, string>>;
  readonly log: string;
}

/** Runs a refresh to its end, which must be `done` unless another status is expected. */
export async function refresh(
  account: Client,
  table: string,
  more: Record<string, unknown> = {},
  end = "done",
): Promise<Refreshed> {
  const { id } = await account.post("/commands", {
    template: "s3import",
    db_name: "default",
    hive_table: table,
    ...more,
  });
  return refreshed(account, id, end);
}

export async function refreshed(account: Client, id: number, end = "done"): Promise<Refreshed> {
  const command = await waitForCommandEnd(account, id);
  const { error_log: log } = await account.get(`/commands/${id}/error_logs`);
  expect(command.status, log).toBe(end);
  return { id, added: end === "done" ? await addedBy(account, id) : {}, log };
}

async function addedBy(account: Client, id: number): Promise<Record<string, string>> {
  const rows: { partition: string; location: string }[] = await account.get(`/commands/${id}/results?format=json`);
  return Object.fromEntries(rows.map(({ partition, location }) => [partition, location]));
}

/** `partition → location`, according to the metastore. */
export async function partitionsOf(
  account: Client,
  table: string,
  schema = "default",
): Promise<Record<string, string>> {
  const rows: { PART_NAME: string; LOCATION: string }[] = await account.get(`/hive/${schema}/${table}/partitions`);
  return Object.fromEntries(rows.map((row) => [row.PART_NAME, row.LOCATION]));
}
