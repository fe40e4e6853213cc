import type { Queryable, Tx } from "../db/database.ts";
import type { Feature } from "../lib/features.ts";
import { parsedPolicy } from "./permission.ts";
import type { Caller } from "./caller.ts";
import type { PolicyContext } from "./policy/authorise.ts";
import type { PolicySource } from "./policy/policy.ts";
import { tokenSha256 } from "./token.ts";

export interface Authenticated {
  caller: Caller;
  state: "pending" | "active" | "disabled";
  addressAllowed: boolean;
  lastLogin: Date | null;
  /** Undefined: no `sources` were given. */
  context: PolicyContext | undefined;
}

interface TokenRow {
  token_id: number;
  account_id: number;
  membership_id: number;
  user_id: number;
  email: string;
  state: Authenticated["state"];
  is_operator: boolean;
  last_login: Date | null;
  features: Feature[];
  groups: string[] | null;
  policies: string[] | null;
  address_allowed: boolean;
  group_ids?: number[];
  absent_sources?: PolicySource[];
}

/** Columns for operations on objects: the caller's groups, and the kinds of policies that the account has none of. */
const POLICY_CONTEXT = `
            array(select e.group_id from effective_group_member e where e.membership_id = m.id) as group_ids,
            array(select source from unnest($3::text[]) source
                   where not exists (select from object_policy p
                                      where p.account_id = t.account_id and p.source_type = source)) as absent_sources,`;

/**
 * Loads everything about a caller that access checks need, in one round trip. Undefined if the token is unknown.
 * `sources` are the kinds of policies that can decide about the operation; most operations have none.
 */
export async function authenticate(
  system: Queryable,
  token: string,
  { address, requestId }: { address: string; requestId: string },
  sources: readonly PolicySource[],
): Promise<Authenticated | undefined> {
  const checksPolicies = sources.length > 0;
  const [row] = await system.query<TokenRow>(
    `select${checksPolicies ? POLICY_CONTEXT : ""} t.id as token_id, t.account_id, m.id as membership_id, m.user_id, u.email, m.state, m.is_operator,
            m.last_login, a.features,
            (select array_agg(g.name) from effective_group_member e join access_group g on g.id = e.group_id
              where e.membership_id = m.id and g.source = 'system') as groups,
            (select json_agg(r.policy) from access_role r
              where r.id in (select gr.role_id from effective_group_member e
                               join access_group_role gr on gr.group_id = e.group_id
                              where e.membership_id = m.id)) as policies,
            not 'ip_whitelisting' = any (a.features)
              or exists (select from whitelisted_ip w where w.account_id = a.id and w.ip_cidr >>= $2::inet)
              as address_allowed
       from api_token t
       join membership m on m.id = t.membership_id
       join app_user u on u.id = m.user_id
       join account a on a.id = t.account_id
      where t.sha256 = $1 and (t.expires_at is null or t.expires_at > now())`,
    [tokenSha256(token), address, ...(checksPolicies ? [[...sources]] : [])],
  );
  if (row === undefined) return undefined;
  return {
    state: row.state,
    addressAllowed: row.address_allowed,
    lastLogin: row.last_login,
    context: checksPolicies
      ? { groupIds: new Set(row.group_ids), absentSources: new Set(row.absent_sources) }
      : undefined,
    caller: {
      accountId: row.account_id,
      userId: row.user_id,
      membershipId: row.membership_id,
      tokenId: row.token_id,
      email: row.email,
      isOperator: row.is_operator,
      groups: new Set(row.groups ?? []),
      statements: (row.policies ?? []).flatMap(parsedPolicy),
      features: new Set(row.features),
      address,
      requestId,
    },
  };
}

export async function touchLastLogin(system: Queryable, membershipId: number, at: Date): Promise<void> {
  await system.query("update membership set last_login = $2 where id = $1", [membershipId, at]);
}

/** An `Idempotency-Key`, and the token, method and path for which it is valid. */
export interface IdempotencyScope {
  readonly caller: Caller;
  readonly method: string;
  readonly path: string;
  readonly key: string;
}

interface StoredReply {
  readonly bodySha256: Buffer;
  readonly sealedReply: Buffer;
}

export async function findIdempotentReply(
  reader: Queryable,
  { caller, method, path, key }: IdempotencyScope,
): Promise<StoredReply | undefined> {
  const [row] = await reader.query<StoredReply>(
    `select body_sha256 as "bodySha256", reply as "sealedReply" from idempotency
      where token_id = $1 and method = $2 and path = $3 and key = $4`,
    [caller.tokenId, method, path, key],
  );
  return row;
}

/** Locks the key until the transaction ends. False: another request has locked it, or a reply is already stored. */
export async function claimIdempotencyKey(tx: Tx, { caller, method, path, key }: IdempotencyScope): Promise<boolean> {
  const values = [caller.tokenId, method, path, key];
  // Two statements in one round trip: the second sees everything that was committed before the lock was free.
  const [[lock], done] = await Promise.all([
    tx.query<{ free: boolean }>(
      `select pg_try_advisory_xact_lock(hashtextextended($1::bigint || ' ' || $2 || ' ' || $3 || ' ' || $4, 0)) free`,
      values,
    ),
    tx.query("select from idempotency where token_id = $1 and method = $2 and path = $3 and key = $4", values),
  ]);
  return lock?.free === true && done.length === 0;
}

export function insertIdempotentReply(
  tx: Tx,
  { caller, method, path, key }: IdempotencyScope,
  { bodySha256, sealedReply }: StoredReply,
): void {
  tx.send(
    `insert into idempotency (account_id, token_id, method, path, key, body_sha256, reply)
     values ($1, $2, $3, $4, $5, $6, $7)`,
    [caller.accountId, caller.tokenId, method, path, key, bodySha256, sealedReply],
  );
}

export async function deleteAuditBefore(system: Queryable, before: Date, limit: number): Promise<number> {
  const rows = await system.query(
    `delete from audit_event where id in (select id from audit_event where at < $1 order by at limit $2) returning 1`,
    [before, limit],
  );
  return rows.length;
}

export async function deleteIdempotencyBefore(system: Queryable, before: Date, limit: number): Promise<number> {
  const rows = await system.query(
    `delete from idempotency where ctid = any (array(
       select ctid from idempotency where created_at < $1 order by created_at limit $2)) returning 1`,
    [before, limit],
  );
  return rows.length;
}

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

/** Adds a token next to the member's own, until it expires. */
export async function insertTemporaryToken(tx: Tx, membershipId: number, sha256: Buffer, hours: number): Promise<void> {
  await tx.query(
    `insert into api_token (account_id, membership_id, sha256, expires_at)
     select account_id, id, $2, now() + make_interval(hours => $3) from membership where id = $1`,
    [membershipId, sha256, hours],
  );
}

/** Replaces the member's own token, which ends. Returns the SHA-256 of that token. */
export async function replaceToken(tx: Tx, membershipId: number, sha256: Buffer): Promise<Buffer | undefined> {
  const [replaced] = await tx.query<{ sha256: Buffer }>(
    "delete from api_token where membership_id = $1 and expires_at is null returning sha256",
    [membershipId],
  );
  await tx.query(
    "insert into api_token (account_id, membership_id, sha256) select account_id, id, $2 from membership where id = $1",
    [membershipId, sha256],
  );
  return replaced?.sha256;
}

export async function deleteExpiredTokens(system: Queryable, before: Date, limit: number): Promise<number> {
  const rows = await system.query(
    `delete from api_token where id in (select id from api_token where expires_at < $1 limit $2) returning 1`,
    [before, limit],
  );
  return rows.length;
}
