import type { Database, Tx } from "../db/database.ts";
import type { Caller } from "./caller.ts";
import { recordAudit } from "./audit/store.ts";
import type { IdempotentReply } from "./idempotency.ts";

/**
 * A write: one transaction with the change, its audit row and, if the client sent an idempotency key, the reply. After
 * a crash all three are there or none, and a repeated request never runs twice. `work` sets `audit.object` to the
 * object it changed and returns the reply.
 */
export type Change = <Reply>(work: (tx: Tx, audit: AuditNote) => Promise<Reply>, scope?: ChangeScope) => Promise<Reply>;

/** `system` is for operations outside the caller's account, such as creating one. */
export type ChangeScope = "account" | "system";

export interface AuditNote {
  /** The changed object, as `<kind>/<id>`; never a secret. */
  object: string | null;
}

export function changeFor(
  db: Database,
  caller: Caller,
  operationId: string,
  idempotentReply: IdempotentReply | undefined,
): Change {
  return (work, scope = "account") => {
    const run = async (tx: Tx): ReturnType<typeof work> => {
      await idempotentReply?.claim(tx);
      const note: AuditNote = { object: null };
      const reply = await work(tx, note);
      recordAudit(tx, caller, operationId, note.object);
      idempotentReply?.keep(tx, reply);
      return reply;
    };
    return scope === "account" ? db.asAccount(caller.accountId, run) : db.asSystem(run);
  };
}
