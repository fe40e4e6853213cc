import type { Tx } from "../../db/database.ts";

export interface NewToken {
  membershipId: number;
  sha256: Buffer;
}

/**
 * Gives each membership a new token. All its earlier tokens, including those still valid from an earlier reset, end
 * when the overlap ends. The memberships must be locked.
 */
export function replaceTokens(tx: Tx, tokens: readonly NewToken[], overlapMinutes: number): void {
  const membershipIds = tokens.map(({ membershipId }) => membershipId);
  tx.send(
    `update api_token set expires_at = least(expires_at, now() + make_interval(mins => $2))
      where membership_id = any ($1) and (expires_at is null or expires_at > now())`,
    [membershipIds, overlapMinutes],
  );
  tx.send(
    `insert into api_token (membership_id, sha256)
     select membership_id, sha256 from unnest($1::bigint[], $2::bytea[]) as t (membership_id, sha256)`,
    [membershipIds, tokens.map(({ sha256 }) => sha256)],
  );
}
