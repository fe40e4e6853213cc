/**
 * A `bytea` column whose values are sealed by the key ring (lib/key-ring.ts). A slice declares its sealed columns beside
 * the code that seals them, and sealed-columns.ts lists them all. The migration that adds such a column also adds an
 * index on its first four bytes, the id of the key: reseal.ts finds the values of old keys by it.
 */
export interface SealedColumn {
  readonly table: string;
  readonly column: string;
  /** The column of the same table that holds the id of the account which owns the value. */
  readonly accountColumn: "account_id" | "id";
}

/** A value is sealed for its column and account, so that it opens nowhere else. */
export function sealContext({ table, column }: SealedColumn, accountId: number): string {
  return `${table}.${column}:${accountId}`;
}
