import type { Duplex } from "node:stream";
import type { ClientBase } from "pg";

/** Sends everything that `work` writes in one packet: on a busy server, system calls cost more than the SQL. */
export function inOneWrite<T>(client: ClientBase, work: () => T): T {
  const stream = connectionStream(client);
  stream.cork();
  try {
    return work();
  } finally {
    stream.uncork();
  }
}

export function connectionStream(client: ClientBase): Duplex {
  return (client as unknown as { connection: { stream: Duplex } }).connection.stream; // public, but not typed
}
