import type { ClientBase, Pool } from "pg";
import type { Queryable } from "./database.ts";

/** A connection of the driver's, or a pool of them, for the statements of a store. */
export function queryableOf(driver: Pick<ClientBase, "query"> | Pick<Pool, "query">): Queryable {
  return {
    query: async <Row extends object>(text: string, values: readonly unknown[] = []) =>
      (await driver.query<Row>(text, [...values])).rows,
  };
}
