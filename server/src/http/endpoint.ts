/**
 * An endpoint is data plus a short handler. Routing, parsing, access checks, errors and OpenAPI all read this data, so
 * an operation is described once. `Access` is the input of the product's access rules, and `Admitted` is their result
 * for the handler; this folder knows neither.
 */
import type { Static, TObject, TSchema } from "typebox";
import type { IncomingBytes } from "./byte-body.ts";
import type { ForwardedReply } from "./forwarded-reply.ts";
import type { StreamReply, StreamType } from "./stream-reply.ts";
import type { VersionForm } from "./version-form.ts";

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
  /** On GET a JSON body is read too; the query string takes precedence. */
  query: Value<Q>;
  body: Value<B>;
}

/** Passed to every handler besides its input. */
export interface RequestContext {
  /** Aborts when the client disconnects or the server stops. Handlers that wait must end then. */
  endingSignal: () => AbortSignal;
  /**
   * Takes a slot for a request that stays open; it is released when the request is over. False: the user, the account or
   * this node has none free.
   */
  takeSlot: (kind: "wait" | "follow" | "stream") => boolean;
  /** Throws the refusal if none is free. A stream needs this call only if its content is costly to prepare. */
  requireSlot: (kind: "follow" | "stream") => void;
  /**
   * Forwards the same GET to another Headgate server and returns its reply; throws if that server is unreachable.
   * Undefined if this request has been forwarded already.
   */
  forward: ((base: string) => Promise<ForwardedReply>) | undefined;
  /** For lists that a version shows as a whole: read the next batch after this id. Undefined: read the page. */
  afterId: number | undefined;
  /** A request header that the endpoint declares. */
  header: (name: string) => string | undefined;
  /** The client asks only for the headers of the reply. */
  isHead: boolean;
  /**
   * The body of an endpoint with `byteBody`. Call it once, and read or destroy its stream. `count` is called with the
   * number of bytes that arrive, and may throw a refusal. The stream ends only if the caller still has access.
   */
  bytes: (count?: (bytes: number) => void) => IncomingBytes;
}

/** Passed to every `find` besides the path parameters. */
export interface SearchContext extends Pick<RequestContext, "endingSignal"> {
  /**
   * The fields of the query (GET) or of the body, for operations that name their object there. They are converted to
   * the types of the schema where possible, but not validated. Throws if `find` runs before the body is read: if the
   * path names an object that decides about access.
   */
  given: () => Readonly<Record<string, unknown>>;
}

export interface EndpointExample {
  params?: Readonly<Record<string, string>>;
  query?: Readonly<Record<string, string>>;
  body?: Readonly<Record<string, unknown>>;
  /** For an endpoint with `byteBody`: a body of text. */
  bytes?: string;
  /** An answer, if `api/example-answers.json` has none or an empty one. */
  reply?: unknown;
}

export interface EventStream {
  description: string;
  /** Keyed by event name. */
  events: Readonly<Record<string, StreamedEvent>>;
  /** The text of the stream as sent. */
  example: string;
}

export interface StreamedEvent {
  description: string;
  /** Schemas of the event's fields. `id` is omitted if the event has none. */
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
  /** The path in each version. Paths of v1.2 also exist in v2. */
  paths: Partial<Record<Version, string>>;
  /** Further paths in the same version. */
  aliases?: Partial<Record<Version, readonly string[]>>;
  /** §9.3: the newer version of this endpoint, or the path of another endpoint that replaces it. */
  supersededBy?: Partial<Record<Version, Version | ApiPath>>;
  /**
   * The last path parameter takes the rest of the URL's path as the client sent it: percent-encoded, with slashes, and
   * without the rules for trailing slashes and suffixes. Only for paths of v2.
   */
  restOfPath?: true;
  access: Access;
  /** For the reference: a body that works as it is, and path parameters that exist in every account. */
  example?: EndpointExample;
  params?: TObject;
  query?: TObject;
  body?: TObject;
  /** The body is bytes of any number, whatever its Content-Type, and this describes them. The handler reads them. */
  byteBody?: string;
  /** Not refused while the disk is nearly full: it frees space, or checks by itself whether it needs the disk. */
  worksOnFullDisk?: true;
  /** Descriptions of the request headers that the handler reads. */
  requestHeaders?: Readonly<Record<string, string>>;
  /** The schema of the JSON reply; undefined if the endpoint only streams. */
  reply?: TSchema;
  /** The versions in which body or reply have another form than here. */
  forms?: Partial<Record<Version, VersionForm>>;
  /** Descriptions of the streams that it can reply with, by content type. */
  streams?: Partial<Record<Exclude<StreamType, "application/json" | "text/event-stream">, string>>;
  /** The server-sent events that it replies with on request. */
  eventStream?: EventStream;
  /** Descriptions of reply headers that only this endpoint sends. */
  replyHeaders?: Readonly<Record<string, string>>;
  /**
   * Finds the object of the request. Runs before the input is validated: an unknown id is 404 whatever else was sent.
   */
  find?: (
    request: Pick<RequestInput<TObject, TObject, TObject>, "params"> & Admitted & SearchContext,
    services: Services,
  ) => Promise<unknown>;
  handle: (
    request: RequestInput<TObject, TObject, TObject> & Admitted & RequestContext & { found: unknown },
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
> = Omit<Endpoint<Access, Admitted, Services>, "params" | "query" | "body" | "reply" | "forms" | "find" | "handle"> & {
  params?: P;
  query?: Q;
  body?: B;
  reply?: R;
  forms?: Partial<Record<Version, VersionForm<Static<R>>>>;
  find?: (
    request: Pick<RequestInput<P, Q, B>, "params"> & Admitted & SearchContext,
    services: Services,
  ) => Promise<Found>;
  handle: (
    request: RequestInput<P, Q, B> & Admitted & RequestContext & { found: Found },
    services: Services,
  ) => Promise<Static<R> | StreamReply | ForwardedReply>;
};

/** Binds the definition function to the product's access types; schemas type the handler's input and reply. */
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
    // The server validates by the schemas of the definition, so the handler's narrower input type holds.
  ): Endpoint<Access, Admitted, Services> => definition as unknown as Endpoint<Access, Admitted, Services>;
}
