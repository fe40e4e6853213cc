/**
 * A Headgate with a real Spark, one for the whole test run, started by the first file that needs it, and an account
 * whose warm server is running. A cold JVM takes many seconds, so all files share these: no file may stop them or
 * assume that it is the only user.
 */
import { beforeAll, expect, inject, vi } from "vitest";
import type { Client } from "./client.ts";
import { SET_UP_MS } from "./connect-server.ts";
import { waitForCommandEnd } from "./wait-for-command-end.ts";
import { AccountClient } from "./given.ts";
import { askFor } from "../on-demand/on-demand.ts";
import type { SharedSpark } from "./spark-server.ts";

export interface Spark extends SharedSpark {
  readonly account: AccountClient;
}

export function useSpark(): Spark {
  let shared: SharedSpark | undefined;
  beforeAll(async () => {
    shared = await askFor<SharedSpark>(inject("sparkSocket"), "Spark");
    const { account } = spark;
    const { id } = await submitSql(account, "select 1");
    await vi.waitFor(async () => expect(await statusOf(account, id)).toBe("done"), {
      timeout: SET_UP_MS,
      interval: 250,
    });
  }, SET_UP_MS);
  const running = (): SharedSpark => {
    if (shared === undefined) throw new Error("Spark runs only inside tests and hooks");
    return shared;
  };
  const spark: Spark = {
    get url() {
      return running().url;
    },
    get pid() {
      return running().pid;
    },
    get token() {
      return running().token;
    },
    get accountId() {
      return running().accountId;
    },
    get email() {
      return running().email;
    },
    get dataDir() {
      return running().dataDir;
    },
    get connection() {
      return running().connection;
    },
    get account() {
      const { url, token, accountId, email } = running();
      return new AccountClient(url, token, accountId, email);
    },
  };
  return spark;
}

export function submitSql(account: Client, sql: string, more: Record<string, unknown> = {}) {
  return account.post("/commands", { command_type: "SparkCommand", sql, ...more });
}

export async function statusOf(account: Client, id: number): Promise<string> {
  const { status } = await account.get(`/commands/${id}`);
  return status;
}

/** Runs a query to its end, which must be `done` unless another status is expected. */
export async function runSql(account: Client, sql: string, more: Record<string, unknown> = {}, end = "done") {
  const { id } = await submitSql(account, sql, more);
  const command = await waitForCommandEnd(account, id);
  if (command.status !== end) {
    const { error_log: log } = await account.get(`/commands/${id}/error_logs`);
    expect(command.status, log).toBe(end);
  }
  return command;
}

/** The rows of a query, as text with tabs between the columns. */
export async function rowsOf(account: Client, sql: string, more: Record<string, unknown> = {}): Promise<string[]> {
  const { id } = await runSql(account, sql, more);
  const { results } = await account.get(`/commands/${id}/results`);
  return results.split("\r\n").slice(0, -1);
}
