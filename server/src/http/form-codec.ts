import { Type, type TSchema } from "typebox";
import { isRecord } from "../lib/is-record.ts";
import { codecOf, replyWriter, type EndpointCodec } from "./endpoint-codec.ts";
import type { Endpoint, Version } from "./endpoint.ts";
import { frameChunks, StreamReply } from "./stream-reply.ts";
import type { ListForm, TranslatedBody, VersionForm } from "./version-form.ts";

type Schemas = Pick<Endpoint<never, never, never>, "method" | "params" | "query" | "body" | "reply" | "forms">;

/** Calls the handler; with `afterId`, for the next batch of a whole list. */
type Call = (afterId: number | undefined) => Promise<unknown>;

/** An endpoint's codec for one version: translates between the form of the version and that of the endpoint. */
export interface FormCodec extends EndpointCodec {
  /** Translates a body to the endpoint's own fields, which `readBody` validates. */
  readonly translate: (sent: unknown) => { fields: unknown; warnings: readonly string[] };
  /** The reply to a query, from the endpoint's handler. */
  readonly reply: (call: Call, query: Readonly<Record<string, unknown>>) => Promise<unknown>;
  /** The endpoint's reply in the form of the version. */
  readonly show: (reply: unknown, warnings: readonly string[]) => unknown;
}

export function formCodecOf(endpoint: Schemas, version: Version): FormCodec {
  const own = codecOf(endpoint);
  const form: VersionForm = endpoint.forms?.[version] ?? {};
  const { body, reply, list } = form;
  const schema = list === undefined ? reply?.schema : listSchema(list);
  const writeReply = schema === undefined ? own.writeReply : replyWriter(schema);
  const translate: FormCodec["translate"] = (sent) =>
    body !== undefined && isRecord(sent) ? body.read(sent) : { fields: sent, warnings: NONE };
  return {
    ...own,
    writeReply,
    translate,
    reply: (call, query) => {
      if (list === undefined) return call(undefined);
      const isPage = query.page !== undefined || query.per_page !== undefined;
      return isPage ? call(undefined).then((page) => shownEntries(list, page)) : wholeList(list, call, writeReply);
    },
    show: (answer, warnings) =>
      reply === undefined || answer instanceof StreamReply ? answer : reply.write(answer, warnings),
  };
}

const NONE: TranslatedBody["warnings"] = [];

const listSchemas = new WeakMap<ListForm<unknown>, TSchema>();

/** The same object for each request, because the writer is compiled once for each schema. */
export function listSchema(list: ListForm<unknown>): TSchema {
  const schema = listSchemas.get(list) ?? Type.Array(list.entry);
  listSchemas.set(list, schema);
  return schema;
}

function shownEntries(list: ListForm<unknown>, page: unknown): unknown[] {
  return list.entries(page).map(({ shown }) => shown);
}

/**
 * All entries. Each batch is as large as the largest page, and the next is read when the client has taken the previous
 * one, so a list of any length needs the memory of one page.
 */
async function wholeList(list: ListForm<unknown>, call: Call, write: (entries: unknown) => string): Promise<unknown> {
  const first = await call(0);
  if (!hasMore(first)) return shownEntries(list, first);
  const chunks = async function* (): AsyncGenerator<string, void, undefined> {
    let page = first;
    let text = write(shownEntries(list, page)).slice(0, -1);
    while (true) {
      yield text;
      const lastId = list.entries(page).at(-1)?.id;
      if (lastId === undefined || !hasMore(page)) return;
      page = await call(lastId);
      const next = write(shownEntries(list, page)).slice(1, -1);
      text = next === "" ? "" : `,${next}`;
    }
  };
  return new StreamReply("application/json", frameChunks([], chunks(), ["]"]));
}

function hasMore(page: unknown): boolean {
  return isRecord(page) && isRecord(page.paging_info) && page.paging_info.next_page !== null;
}
