import { sealContext, type SealedColumn } from "../db/sealed-column.ts";
import { invalid } from "../lib/fault.ts";
import type { KeyRing } from "../lib/key-ring.ts";
import { Secret } from "../lib/secret.ts";
import { givenToken, type ClusterEngine, type EngineInput } from "./engine.ts";

/**
 * What an engine elsewhere asks for: sealed at rest, masked in replies. What a client sends back as it was shown, or an
 * empty text, keeps it; it never goes to another address than the one it was given for.
 */
export interface KeptToken {
  engine: ClusterEngine;
  token: Buffer | null;
}

export function sealedToken(
  input: EngineInput | undefined,
  engine: ClusterEngine,
  current: KeptToken,
  seal: (secret: Secret) => Buffer,
): Buffer | null {
  const address = addressOf(engine);
  if (address === undefined) return null;
  const given = input === undefined ? undefined : givenToken(input);
  if (given !== undefined) return seal(given);
  if (addressOf(current.engine) !== address && current.token !== null) {
    throw invalid("engine.token", "must be given again with another address");
  }
  return current.token;
}

/** Where it goes; undefined: nowhere. */
function addressOf(engine: ClusterEngine): string | undefined {
  if (engine.type === "connect") return engine.url;
  return engine.type === "standalone" ? engine.masterUrl : undefined;
}

/** Sealed for the account rather than the cluster: a clone of the cluster has the same bytes. */
export const tokenColumn: SealedColumn = { table: "cluster", column: "token", accountColumn: "account_id" };

export function tokenSealer(keys: KeyRing, accountId: number): (secret: Secret) => Buffer {
  return (secret) => keys.seal(Buffer.from(secret.reveal()), sealContext(tokenColumn, accountId));
}

export function openToken(keys: KeyRing, accountId: number, sealed: Buffer | null): Secret | null {
  return sealed === null ? null : new Secret(keys.open(sealed, sealContext(tokenColumn, accountId)).toString("utf8"));
}
