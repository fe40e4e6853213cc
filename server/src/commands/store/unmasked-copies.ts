import type { Tx } from "../../db/database.ts";

/** A copy that an earlier version stored. */
export interface UnmaskedCopy {
  id: number;
  accountId: number;
  command: Readonly<Record<string, unknown>>;
  secrets: Buffer | null;
  macros: string | null;
  resolvedMacros: string | null;
}

export type RemaskedCopy = Omit<UnmaskedCopy, "accountId">;

/** Skips rows that another node or the queue has locked: a later run takes them. */
export async function takeUnmaskedCopies(tx: Tx, afterId: number, limit: number): Promise<UnmaskedCopy[]> {
  return tx.query<UnmaskedCopy>(
    `select id, account_id as "accountId", command, secrets, macros, resolved_macros as "resolvedMacros" from command
      where command_type = 'HadoopCommand' and not is_masked and id > $1
      order by id limit $2 for no key update skip locked`,
    [afterId, limit],
  );
}

export async function storeMaskedCopies(tx: Tx, copies: readonly RemaskedCopy[]): Promise<void> {
  const column = <Key extends keyof RemaskedCopy>(key: Key): RemaskedCopy[Key][] => copies.map((copy) => copy[key]);
  await tx.query(
    `update command c
        set command = n.command::json, secrets = n.secrets, macros = n.macros, resolved_macros = n.resolved, is_masked = true
       from unnest($1::bigint[], $2::text[], $3::bytea[], $4::text[], $5::text[]) n (id, command, secrets, macros, resolved)
      where c.id = n.id`,
    [
      column("id"),
      copies.map(({ command }) => JSON.stringify(command)),
      column("secrets"),
      column("macros"),
      column("resolvedMacros"),
    ],
  );
}
