import { Client, type ClientConfig } from "pg";
import type { Log } from "../lib/log.ts";
import { KEEP_ALIVE } from "./work-limits.ts";

/**
 * Messages between nodes, on a connection of their own and outside of every transaction: NOTIFY inside one would make
 * all commits wait for each other. They only make things quick: one that is lost, because PostgreSQL is away or
 * nobody listens, must be made up for by looking at the rows.
 */
export interface Notifications {
  /** Soon, to all nodes and this one; the same message several times in a row is one. */
  publish(message: string): void;
  close(): Promise<void>;
}

const CHANNEL = "headgate";
const DEBOUNCE_MS = 5;
const RECONNECT_MS = 1000;

/** Where no other node can be: no connection, no PostgreSQL, the same promise. */
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
      query_timeout: 5000, // ends the connection, because it is pipelined: a silent one would lose every message
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
      log.debug({ err: error }, "no messages between nodes for now");
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
