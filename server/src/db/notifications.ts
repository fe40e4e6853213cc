/**
 * Messages between nodes, on a separate connection and outside transactions: NOTIFY inside a transaction would
 * serialise all commits. They only make nodes react faster. A message can be lost, because PostgreSQL is unavailable or
 * no node listens, so receivers must also poll the rows.
 */
import { Client, type ClientConfig } from "pg";
import type { Log } from "../lib/log.ts";
import { KEEP_ALIVE } from "./work-limits.ts";

export interface Notifications {
  /** Sends soon, to all nodes including this one; repeated messages are merged. */
  publish(message: string): void;
  close(): Promise<void>;
}

const CHANNEL = "headgate";
const DEBOUNCE_MS = 5;
const RECONNECT_MS = 1000;

/** For a single node: the same interface without a connection. */
export function ownNotifications(receive: (message: string) => void): Notifications {
  return {
    publish: (message) => {
      setImmediate(receive, message);
    },
    close: () => Promise.resolve(),
  };
}

export function openNotifications(
  connection: ClientConfig,
  log: Log,
  receive: (message: string) => void,
): Notifications {
  const pending = new Set<string>();
  let client: Client | undefined;
  let flushing: NodeJS.Timeout | undefined;
  let reconnecting: NodeJS.Timeout | undefined;
  let closed = false;
  let connecting: Promise<void> = Promise.resolve();

  const connect = async (): Promise<void> => {
    const fresh = new Client({
      application_name: "headgate messages",
      connectionTimeoutMillis: 5000,
      query_timeout: 5000, // closes the pipelined connection: a silent one would lose every message
      pipeline: true,
      ...KEEP_ALIVE,
      ...connection,
    });
    const dropped = (): void => {
      if (client === fresh) client = undefined;
      fresh.end().catch(() => undefined);
      if (!closed) reconnecting ??= setTimeout(reconnect, RECONNECT_MS).unref();
    };
    fresh.once("error", dropped);
    fresh.on("error", () => undefined);
    fresh.once("end", dropped);
    fresh.on("notification", ({ payload = "" }) => receive(payload));
    try {
      await fresh.connect();
      await fresh.query(`listen ${CHANNEL}`);
      client = fresh;
    } catch (error) {
      log.debug({ err: error }, "messages between nodes are unavailable; reconnecting");
      dropped();
    }
  };
  const reconnect = (): void => {
    reconnecting = undefined;
    connecting = connect();
  };
  const flush = (): void => {
    flushing = undefined;
    const messages = [...pending];
    pending.clear();
    client
      ?.query("select pg_notify($1, message) from unnest($2::text[]) as t (message)", [CHANNEL, messages])
      .catch((error: unknown) => log.debug({ err: error }, "messages to other nodes were lost"));
  };

  connecting = connect();
  return {
    publish(message) {
      pending.add(message);
      if (!closed) flushing ??= setTimeout(flush, DEBOUNCE_MS).unref();
    },
    async close() {
      closed = true;
      clearTimeout(reconnecting);
      clearTimeout(flushing);
      await connecting;
      await client?.end().catch(() => undefined);
    },
  };
}
