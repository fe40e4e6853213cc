import type { IncomingMessage } from "node:http";
import type { FastifyRequest } from "fastify";
import { Fault } from "../lib/fault.ts";
import { codecOf } from "./endpoint-codec.ts";
import type { Endpoint, SearchContext } from "./endpoint.ts";
import type { Arrival, Gate, Search } from "./gate.ts";

export interface Found {
  readonly params: Record<string, unknown>;
  readonly found: unknown;
}

/** The outcome of a search before the body is read. */
export type EarlySearch = Found | { readonly fault: Fault };

/**
 * Runs the `find` of an endpoint. If objects decide about access, the gate then checks what was found. If the path
 * names the object, both happen before the body is read, so that a refusal (403) comes before the faults of the body
 * (400, 413).
 */
export function objectSearch<Access, Admission, Admitted, Services>(
  endpoint: Endpoint<Access, Admitted, Services>,
  gate: Gate<Access, Admission, Admitted>,
  services: Services,
) {
  const checksPolicies = gate.checksPolicies(endpoint);

  async function find(
    { params: given }: FastifyRequest,
    admission: Admission,
    context: Admitted & SearchContext,
  ): Promise<Found> {
    const search = async (): Promise<Found> => {
      const params = codecOf(endpoint).readParams(given);
      return { params, found: await endpoint.find?.({ params, ...context }, services) };
    };
    if (!checksPolicies) return search();
    return authorised((outcome) => gate.authorise(endpoint, admission, outcome), search);
  }

  /** Undefined: the object is searched after the body is read. */
  async function beforeBody(
    request: FastifyRequest,
    admission: Admission,
    arrival: Arrival,
    endingSignal: () => AbortSignal,
  ): Promise<EarlySearch | undefined> {
    if (!isBeforeBody(request)) return undefined;
    const admitted = gate.enter(endpoint, admission, arrival);
    const given = (): never => {
      throw new Error(`${endpoint.id} has path parameters, so its find cannot use given()`);
    };
    try {
      return await find(request, admission, { ...admitted, given, endingSignal });
    } catch (error) {
      // 400 and 413 for the body come before 404, so this fault is thrown after the body is read.
      if (error instanceof Fault && error.code === "not-found") return { fault: error };
      throw error;
    }
  }

  /** For a GET without a body the order makes no difference, so it is searched in the handler as usual. */
  const isBeforeBody = ({ raw }: FastifyRequest): boolean =>
    checksPolicies && endpoint.params !== undefined && (endpoint.method !== "GET" || hasBody(raw));

  return { find, beforeBody };
}

/** Asks the gate even if nothing was found: callers without permission must not learn what exists. */
async function authorised(authorise: (search: Search) => Promise<void>, search: () => Promise<Found>): Promise<Found> {
  let result: Found;
  try {
    result = await search();
  } catch (fault) {
    if (fault instanceof Fault) await authorise({ fault });
    throw fault;
  }
  await authorise(result);
  return result;
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;
}
