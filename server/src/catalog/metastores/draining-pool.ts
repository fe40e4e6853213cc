import { Pool, type PoolClient, type PoolConfig, type QueryConfig, type QueryResult, type QueryResultRow } from "pg";

/** A pool that ends after its last query, including queries that still wait for a connection. */
export class DrainingPool {
  readonly #pool: Pool;
  #queries = 0;
  #ended: PromiseWithResolvers<void> | undefined;

  constructor(config: PoolConfig, onConnect?: (client: PoolClient) => void) {
    this.#pool = new Pool(config);
    // A connection that breaks fails its query; without these listeners it would end the process.
    this.#pool.on("error", () => undefined);
    this.#pool.on("connect", (client) => {
      client.on("error", () => undefined);
      onConnect?.(client);
    });
  }

  async query<Row extends QueryResultRow>(query: QueryConfig): Promise<QueryResult<Row>> {
    this.#queries += 1;
    try {
      return await this.#pool.query<Row>(query);
    } finally {
      this.#queries -= 1;
      this.#endIfDrained();
    }
  }

  /** May be called more than once. */
  end(): Promise<void> {
    const isFirst = this.#ended === undefined;
    this.#ended ??= Promise.withResolvers<void>();
    if (isFirst) this.#endIfDrained();
    return this.#ended.promise;
  }

  #endIfDrained(): void {
    const ended = this.#ended;
    if (ended === undefined || this.#queries > 0 || this.#pool.ending) return;
    // A connection that fails to close is of no further use.
    this.#pool.end().then(ended.resolve, ended.resolve);
  }
}
