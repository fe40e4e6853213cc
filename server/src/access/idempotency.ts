import { createHash } from "node:crypto";
import type { Database, Tx } from "../db/database.ts";
import { sealContext, type SealedColumn } from "../db/sealed-column.ts";
import { Fault } from "../lib/fault.ts";
import type { KeyRing } from "../lib/key-ring.ts";
import type { Caller } from "./caller.ts";

/**
 * `Idempotency-Key` on any POST, per token, method and path: a repeated request with the same key and body gets the
 * stored reply, which is sealed because it may contain a token. The reply is stored in the transaction of the change
 * (see gate.ts), and a concurrent request with the same key finds that transaction's lock taken.
 */
export interface IdempotencyScope {
  caller: Caller;
  method: string;
  path: string;
  key: string;
}

export interface IdempotentReply {
  /** Claims the key for this transaction. Refuses if another request with it is running or has just been completed. */
  claim(tx: Tx): Promise<void>;
  keep(tx: Tx, reply: unknown): void;
}

export const replyColumn: SealedColumn = { table: "idempotency", column: "reply", accountColumn: "account_id" };

const MAX_KEY_LENGTH = 255;
const MAX_PATH_LENGTH = 500;

export function checkIdempotencyKey(key: string): void {
  if (key.length === 0 || key.length > MAX_KEY_LENGTH) {
    throw new Fault("invalid", `Idempotency-Key must have 1 to ${MAX_KEY_LENGTH} characters`);
  }
}

/** Path and key are in an index, whose rows have a maximum size; a longer path is replaced by its SHA-256. */
export function idempotencyPath(path: string): string {
  return path.length <= MAX_PATH_LENGTH ? path : createHash("sha256").update(path).digest("hex");
}

interface KeptRow {
  body_sha256: Buffer;
  reply: Buffer;
}

/** The stored reply of an earlier request with this key; undefined if there is none. */
export async function keptReply(
  db: Database,
  keys: KeyRing,
  scope: IdempotencyScope,
  bodySha256: Buffer,
): Promise<unknown> {
  const [row] = await db.accountReader(scope.caller.accountId).query<KeptRow>(
    `select body_sha256, reply from idempotency
      where token_id = $1 and method = $2 and path = $3 and key = $4`,
    [scope.caller.tokenId, scope.method, scope.path, scope.key],
  );
  if (row === undefined) return undefined;
  if (!row.body_sha256.equals(bodySha256)) {
    throw new Fault("invalid", "Idempotency-Key has already been used with another body: use a new key");
  }
  return JSON.parse(keys.open(row.reply, sealContext(replyColumn, scope.caller.accountId)).toString("utf8"));
}

export function idempotentReply(keys: KeyRing, scope: IdempotencyScope, bodySha256: Buffer): IdempotentReply {
  const { caller, method, path, key } = scope;
  return {
    async claim(tx) {
      // Two statements in one round trip: the second sees everything that was committed before the lock was free.
      const [[lock], done] = await Promise.all([
        tx.query<{ free: boolean }>(
          `select pg_try_advisory_xact_lock(hashtextextended($1::bigint || ' ' || $2 || ' ' || $3 || ' ' || $4, 0)) free`,
          [caller.tokenId, method, path, key],
        ),
        tx.query("select from idempotency where token_id = $1 and method = $2 and path = $3 and key = $4", [
          caller.tokenId,
          method,
          path,
          key,
        ]),
      ]);
      if (lock?.free !== true || done.length > 0) {
        throw new Fault("conflict", "A request with this Idempotency-Key is still running. Try again shortly.", {
          retryAfterSeconds: 1,
        });
      }
    },
    keep(tx, reply) {
      tx.send(
        `insert into idempotency (account_id, token_id, method, path, key, body_sha256, reply)
         values ($1, $2, $3, $4, $5, $6, $7)`,
        [
          caller.accountId,
          caller.tokenId,
          method,
          path,
          key,
          bodySha256,
          keys.seal(Buffer.from(JSON.stringify(reply)), sealContext(replyColumn, caller.accountId)),
        ],
      );
    },
  };
}
