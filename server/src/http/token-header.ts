import type { IncomingHttpHeaders } from "node:http";
import { Fault } from "../lib/fault.ts";

const BEARER = /^bearer +(\S+) *$/i;

/** The token of the caller: `X-AUTH-TOKEN`, or `Authorization: Bearer`, which many clients can send without a setting. */
export function tokenOf(headers: IncomingHttpHeaders): string | undefined {
  const { "x-auth-token": token } = headers;
  return typeof token === "string" ? token : bearerOf(headers);
}

/** Two different tokens are refused, because it is not clear who the caller is. */
export function checkOneToken(headers: IncomingHttpHeaders): void {
  const bearer = bearerOf(headers);
  if (bearer === undefined || bearer === tokenOf(headers)) return;
  const text = "X-AUTH-TOKEN and Authorization contain different tokens: send only one of these headers.";
  throw new Fault("unauthenticated", text);
}

function bearerOf({ authorization = "" }: IncomingHttpHeaders): string | undefined {
  return BEARER.exec(authorization)?.[1];
}
