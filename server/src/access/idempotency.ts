/**
 * `Idempotency-Key` on any POST, per token, method and path: a repeated request with the same key and body gets the
 * stored reply, which is sealed because it may contain a token. The reply is stored in the transaction of the change
 * (see gate.ts), and a concurrent request with the same key finds that transaction's lock taken.
 */
import { createHash } from "node:crypto";
import type { Database, Tx } from "../db/database.ts";
import { sealContext, type SealedColumn } from "../db/sealed-column.ts";
import { Fault } from "../lib/fault.ts";
import type { KeyRing } from "../lib/key-ring.ts";
import { claimIdempotencyKey, findIdempotentReply, insertIdempotentReply, type IdempotencyScope } from "./store.ts";

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

/** The stored reply of an earlier request with this key; undefined if there is none. */
export async function keptReply(
  db: Database,
  keys: KeyRing,
  scope: IdempotencyScope,
  bodySha256: Buffer,
): Promise<unknown> {
  const { accountId } = scope.caller;
  const stored = await findIdempotentReply(db.accountReader(accountId), scope);
  if (stored === undefined) return undefined;
  if (!stored.bodySha256.equals(bodySha256)) {
    throw new Fault("invalid", "Idempotency-Key has already been used with another body: use a new key");
  }
  return JSON.parse(keys.open(stored.sealedReply, sealContext(replyColumn, accountId)).toString("utf8"));
}

export function idempotentReply(keys: KeyRing, scope: IdempotencyScope, bodySha256: Buffer): IdempotentReply {
  return {
    async claim(tx) {
      if (await claimIdempotencyKey(tx, scope)) return;
      throw new Fault("conflict", "A request with this Idempotency-Key is still running. Try again shortly.", {
        retryAfterSeconds: 1,
      });
    },
    keep(tx, reply) {
      const context = sealContext(replyColumn, scope.caller.accountId);
      insertIdempotentReply(tx, scope, {
        bodySha256,
        sealedReply: keys.seal(Buffer.from(JSON.stringify(reply)), context),
      });
    },
  };
}
