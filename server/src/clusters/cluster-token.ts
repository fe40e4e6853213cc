/**
 * The secret of a remote engine: sealed at rest, masked in replies. A request with the mask or an empty string keeps
 * it. It is never sent to another address than the one it was given for.
 */
import { sealContext, type SealedColumn } from "../db/sealed-column.ts";
import { invalid } from "../lib/fault.ts";
import type { KeyRing } from "../lib/key-ring.ts";
import { Secret } from "../lib/secret.ts";
import { givenToken, type ClusterEngine, type EngineInput } from "./engine.ts";

export interface StoredToken {
  engine: ClusterEngine;
  token: Buffer | null;
}

export function sealedToken(
  input: EngineInput | undefined,
  engine: ClusterEngine,
  current: StoredToken,
  seal: (secret: Secret) => Buffer,
): Buffer | null {
  const address = addressOf(engine);
  if (address === undefined) return null;
  const given = input === undefined ? undefined : givenToken(input);
  if (given !== undefined) return seal(given);
  if (addressOf(current.engine) !== address && current.token !== null) {
    throw invalid("engine.token", "must be given again when the address changes");
  }
  return current.token;
}

/** The address that the token is sent to; undefined: none. */
function addressOf(engine: ClusterEngine): string | undefined {
  if (engine.type === "connect") return engine.url;
  return engine.type === "standalone" ? engine.masterUrl : undefined;
}

/** Sealed for the account, not the cluster, so that a clone can copy the sealed bytes. */
export const tokenColumn: SealedColumn = { table: "cluster", column: "token", accountColumn: "account_id" };

export function tokenSealer(keys: KeyRing, accountId: number): (secret: Secret) => Buffer {
  return (secret) => keys.seal(Buffer.from(secret.reveal()), sealContext(tokenColumn, accountId));
}

export function openToken(keys: KeyRing, accountId: number, sealed: Buffer | null): Secret | null {
  return sealed === null ? null : new Secret(keys.open(sealed, sealContext(tokenColumn, accountId)).toString("utf8"));
}
