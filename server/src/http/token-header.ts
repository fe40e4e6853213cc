/** Where a request has its token: `X-AUTH-TOKEN`, or `Authorization: Bearer`, which many clients send without a setting. */
import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { Fault } from "../lib/fault.ts";

const BEARER = /^bearer +(\S+) *$/i;

export function tokenOf(headers: IncomingHttpHeaders): string | undefined {
  const { "x-auth-token": token } = headers;
  return typeof token === "string" && token !== "" ? token : bearerOf(headers);
}

/** Different tokens are refused, because it is not clear who the caller is. */
export function checkOneToken(request: Pick<IncomingMessage, "headers" | "headersDistinct">): void {
  const { headers } = request;
  if (headers.authorization === undefined) return;
  // `headers` has only the first of several.
  const { authorization = [] } = request.headersDistinct;
  if (authorization.length > 1) {
    throw new Fault("unauthenticated", "The request has several Authorization headers: send only one.");
  }
  const bearer = bearerOf(headers);
  if (bearer === undefined || bearer === tokenOf(headers)) return;
  const text = "X-AUTH-TOKEN and Authorization contain different tokens: send only one of these headers.";
  throw new Fault("unauthenticated", text);
}

function bearerOf({ authorization = "" }: IncomingHttpHeaders): string | undefined {
  return BEARER.exec(authorization)?.[1];
}
