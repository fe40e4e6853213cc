/**
 * Headgate servers with the same key file prove themselves to each other, so that the caller's address in a forwarded
 * request counts. The proof is made with a key that is derived from that file. It covers the caller's address and token:
 * a program that takes the port of a dead node and reads a proof cannot use it for another address. The proof names the
 * key, because the other server may not know the newest one yet.
 */
import { createHmac, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import type { KeyRing } from "../lib/key-ring.ts";
import { tokenOf } from "./token-header.ts";

const PURPOSE = "headgate: forwarded requests between nodes";
const FORM = /^node (\d{1,9}) ([A-Za-z0-9_-]{43})$/;

export function nodeProof(keys: KeyRing, headers: IncomingHttpHeaders): string {
  return `node ${keys.newestId} ${codeOf(keys, keys.newestId, headers)?.toString("base64url") ?? ""}`;
}

export function isNodeProof(keys: KeyRing, proof: string, headers: IncomingHttpHeaders): boolean {
  const [, id, given] = FORM.exec(proof) ?? [];
  const expected = id === undefined ? undefined : codeOf(keys, Number(id), headers);
  if (given === undefined || expected === undefined) return false;
  return timingSafeEqual(Buffer.from(given, "base64url"), expected);
}

function codeOf(keys: KeyRing, keyId: number, headers: IncomingHttpHeaders): Buffer | undefined {
  const key = keys.derive(PURPOSE, keyId);
  if (key === undefined) return undefined;
  const { "x-forwarded-for": address = "" } = headers;
  return createHmac("sha256", key)
    .update(JSON.stringify([address, tokenOf(headers) ?? ""]))
    .digest();
}
