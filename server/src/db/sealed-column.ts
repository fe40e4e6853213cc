/**
 * A `bytea` column whose values are sealed by the key ring (lib/key-ring.ts). A slice declares its sealed columns next
 * to the code that seals them, and sealed-columns.ts lists them all. The migration that adds such a column also adds an
 * index on its first four bytes, the id of the key, by which reseal.ts finds values of old keys.
 */
export interface SealedColumn {
  readonly table: string;
  readonly column: string;
  /** The column of the same table that holds the id of the account which owns the value. */
  readonly accountColumn: "account_id" | "id";
}

/** A value is sealed for its column and account, so that it cannot be opened anywhere else. */
export function sealContext({ table, column }: SealedColumn, accountId: number): string {
  return `${table}.${column}:${accountId}`;
}
