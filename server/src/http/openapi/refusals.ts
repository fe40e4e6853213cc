import type { Endpoint } from "../endpoint.ts";
import { ErrorBody } from "../error-body.ts";
import type { Reference, Response } from "./document.ts";
import type { NamedSchemas } from "./named-schemas.ts";

/** The meaning of each status for a client; all have the same format. */
const MEANINGS = {
  400: "The body is not JSON in UTF-8, or the request is malformed.",
  401: "The token is missing or unknown.",
  403: "Not permitted; or the user is pending or disabled; or the address is not whitelisted.",
  404: "No such path or id, or an id of another account.",
  409: "A unique name is taken, an edit conflicts, or the same idempotency key is in flight.",
  413: "The body is larger than this operation accepts.",
  422: "A value breaks a rule; the message names the field and the rule.",
  429: "Too many requests, or too many large bodies at once; wait for the time in Retry-After.",
  503: "The database is unavailable, the disk is nearly full or the server is overloaded; retry after the time in Retry-After.",
} as const;

type Refusal = keyof typeof MEANINGS;

export function refusalResponses(schemas: NamedSchemas): Record<string, Response> {
  const content = { "application/json": { schema: schemas.place(ErrorBody) } };
  const headers = { "X-Request-Id": { $ref: "#/components/headers/RequestId" } };
  const response = (description: string): Response => ({ description, headers, content });
  return {
    ...Object.fromEntries(Object.entries(MEANINGS).map(([status, text]) => [`Refusal${status}`, response(text)])),
    Refusal: response("Any other error."),
  };
}

/** The refusals that an operation can reply with, as far as its data shows. */
export function refusalsOf(
  { method, params, query, body }: Endpoint<unknown, never, never>,
  needsToken: boolean,
  isHidden: boolean,
): Record<string, Reference> {
  const possible: Record<Refusal, boolean> = {
    400: body !== undefined,
    401: needsToken,
    403: needsToken,
    404: params !== undefined || isHidden,
    409: method === "POST" || method === "PUT",
    413: body !== undefined,
    422: body !== undefined || query !== undefined || method === "POST",
    429: needsToken,
    503: true,
  };
  const statuses = Object.entries(possible).flatMap(([status, is]) => (is ? [status] : []));
  const references = statuses.map((status): [string, Reference] => [status, reference(`Refusal${status}`)]);
  return { ...Object.fromEntries(references), default: reference("Refusal") };
}

function reference(name: string): Reference {
  return { $ref: `#/components/responses/${name}` };
}
