import type { Static, TObject, TSchema } from "typebox";
import type { ForwardedReply } from "./forwarded-reply.ts";
import type { StreamReply, StreamType } from "./stream-reply.ts";

/**
 * An endpoint is data plus a short handler. Everything else — routing of every version and spelling, parsing, access,
 * errors, OpenAPI — reads this data, so an operation is described once. `Access` is what the product's access rules
 * need to know of it, `Admitted` what they hand to the handler; this folder knows neither.
 */
export type Method = "GET" | "POST" | "PUT" | "DELETE";
export type Version = "v1" | "v1.2" | "v2";
export type ApiPath = `/api/${string}`;

type Value<S extends TObject | undefined> = S extends TObject ? Static<S> : Record<string, never>;

export interface RequestInput<
  P extends TObject | undefined,
  Q extends TObject | undefined,
  B extends TObject | undefined,
> {
  params: Value<P>;
  /** On GET a JSON body is read too; the query string wins. */
  query: Value<Q>;
  body: Value<B>;
}

/** What every handler gets besides its input, whatever the product's access rules are. */
export interface RequestLife {
  /** Whoever waits or follows comes to an end when this is given. */
  endingSignal: () => AbortSignal;
  /**
   * Lets another server of ours, at this address, answer the same GET in our place; fails when it cannot be reached.
   * Undefined: this was such a request already.
   */
  forward: ((base: string) => Promise<ForwardedReply>) | undefined;
}

export interface EndpointExample {
  params?: Readonly<Record<string, string>>;
  body?: Readonly<Record<string, unknown>>;
}

export interface EventStream {
  description: string;
  /** By name. */
  events: Readonly<Record<string, StreamedEvent>>;
  /** As it goes over the wire. */
  example: string;
}

export interface StreamedEvent {
  description: string;
  /** What its fields hold; `id` is left out where the event has none. */
  id?: TSchema;
  data: TSchema;
}

export interface Endpoint<Access, Admitted, Services> {
  /** Reads as a CLI command: `whitelist_ip_add`. */
  id: string;
  summary: string;
  description?: string;
  tag: string;
  method: Method;
  /** Where each version has it. What v1.2 has, v2 has too. */
  paths: Partial<Record<Version, string>>;
  /** Other paths the same version answers. */
  aliases?: Partial<Record<Version, readonly string[]>>;
  /** §9.3: this version has a newer one, of this endpoint or (a path) of another. */
  supersededBy?: Partial<Record<Version, Version | ApiPath>>;
  access: Access;
  /** For the reference: a body that works as it stands, and path parameters that exist in every account. */
  example?: EndpointExample;
  params?: TObject;
  query?: TObject;
  body?: TObject;
  /** Of the JSON it answers with; undefined when it answers with streams alone. */
  reply?: TSchema;
  /** What it streams instead, and what that holds. */
  streams?: Partial<Record<Exclude<StreamType, "application/json" | "text/event-stream">, string>>;
  /** The stream of server-sent events that it answers with when it is asked to. */
  eventStream?: EventStream;
  /** Headers of its own, and what they say. */
  replyHeaders?: Readonly<Record<string, string>>;
  /** Finds what the path names before the body is judged: an unknown id is 404 whatever the body holds. */
  find?: (
    request: Pick<RequestInput<TObject, TObject, TObject>, "params"> & Admitted & Pick<RequestLife, "endingSignal">,
    services: Services,
  ) => Promise<unknown>;
  handle: (
    request: RequestInput<TObject, TObject, TObject> & Admitted & RequestLife & { found: unknown },
    services: Services,
  ) => Promise<unknown>;
}

type EndpointDefinition<
  Access,
  Admitted,
  Services,
  P extends TObject | undefined,
  Q extends TObject | undefined,
  B extends TObject | undefined,
  R extends TSchema,
  Found,
> = Omit<Endpoint<Access, Admitted, Services>, "params" | "query" | "body" | "reply" | "find" | "handle"> & {
  params?: P;
  query?: Q;
  body?: B;
  reply?: R;
  find?: (
    request: Pick<RequestInput<P, Q, B>, "params"> & Admitted & Pick<RequestLife, "endingSignal">,
    services: Services,
  ) => Promise<Found>;
  handle: (
    request: RequestInput<P, Q, B> & Admitted & RequestLife & { found: Found },
    services: Services,
  ) => Promise<Static<R> | StreamReply | ForwardedReply>;
};

/** Binds the definition function to the product's kind of access; schemas type the handler's input and reply. */
export function endpointFor<Access, Admitted>() {
  return <
    Services,
    R extends TSchema,
    P extends TObject | undefined = undefined,
    Q extends TObject | undefined = undefined,
    B extends TObject | undefined = undefined,
    Found = undefined,
  >(
    definition: EndpointDefinition<Access, Admitted, Services, P, Q, B, R, Found>,
    // The schemas of the definition are what the server validates by, so the handler's narrower input type holds.
  ): Endpoint<Access, Admitted, Services> => definition as unknown as Endpoint<Access, Admitted, Services>;
}
