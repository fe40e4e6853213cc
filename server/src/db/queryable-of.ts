import type { ClientBase, Pool } from "pg";
import type { Queryable } from "./database.ts";

/** Adapts a connection or pool of the driver to `Queryable`. */
export function queryableOf(driver: Pick<ClientBase, "query"> | Pick<Pool, "query">): Queryable {
  return {
    query: async <Row extends object>(text: string, values: readonly unknown[] = []) =>
      (await driver.query<Row>(text, [...values])).rows,
  };
}
