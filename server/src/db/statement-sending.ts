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

const MAX_NAMED_STATEMENTS = 500;

/**
 * Statements are text constants, so each is prepared once per connection, under a name. The number is bounded: texts
 * built from parts would otherwise fill the server's memory with plans.
 */
export class StatementNames {
  readonly #names = new Map<string, string>();

  /** Undefined if there are too many; the statement is then sent without a name. */
  nameOf(text: string): string | undefined {
    const known = this.#names.get(text);
    if (known !== undefined || this.#names.size >= MAX_NAMED_STATEMENTS) return known;
    const name = `s${this.#names.size + 1}`;
    this.#names.set(text, name);
    return name;
  }
}
