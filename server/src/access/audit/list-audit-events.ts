import { Type, type Static } from "typebox";
import { Moment, parseMoment } from "../../http/moment.ts";
import { pageOf, PageQuery, PagingInfo, pagingInfo, shownRows } from "../../http/paging.ts";
import { Id, MAX_INTEGER, Nullable, OneOf, Timestamp } from "../../http/schema.ts";
import { isoSeconds } from "../../lib/clock.ts";
import { invalid } from "../../lib/fault.ts";
import { operation } from "../operation.ts";
import {
  listAuditEvents as readAuditEvents,
  MAX_FILTERED_OBJECT_BYTES,
  type AuditEventRow,
  type AuditFilter,
} from "./store.ts";

const AuditEvent = Type.Object({
  id: Id,
  at: Timestamp,
  user_id: Nullable(Type.Integer()),
  email: Nullable(Type.String()),
  address: Nullable(Type.String()),
  operation: Type.String(),
  object: Nullable(Type.String({ description: "The object of the operation, as <kind>/<id>" })),
  outcome: OneOf(["done", "denied"]),
  request_id: Nullable(Type.String({ description: "The X-Request-Id; for several denials, that of the first" })),
  count: Type.Integer({ description: "Number of denials; those of one token, operation and minute are one event" }),
  detail: Nullable(
    Type.Object(
      {},
      { additionalProperties: true, description: "Values before and after, for changes of policies and of locations" },
    ),
  ),
});

/** Changes and refusals in the account: newest first, by page or by the cursor `after`, and filtered. */
export const listAuditEvents = operation({
  id: "audit_event_list",
  summary: "List audit events",
  tag: "Audit",
  method: "GET",
  paths: { v2: "/audit_events" },
  access: { permission: { groups: ["system-admin"], role: "account:read" } },
  query: Type.Object({
    ...PageQuery,
    after: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: MAX_INTEGER,
        description: "The id of the last event seen: the list goes on with those before it. Pages count from there.",
      }),
    ),
    operation: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 255,
        description: "The id of an operation",
        examples: ["object_policy_set"],
      }),
    ),
    object: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: MAX_FILTERED_OBJECT_BYTES,
        description: "The object of the operation, as <kind>/<id>",
        examples: ["cluster/1"],
      }),
    ),
    user_id: Type.Optional(Type.Integer({ ...Id, description: "The user_id of a user" })),
    outcome: Type.Optional(OneOf(["done", "denied"])),
    start_date: Moment("Inclusive", "2026-01-01"),
    end_date: Moment("Inclusive", "2026-12-31"),
  }),
  reply: Type.Object({
    paging_info: PagingInfo,
    audit_events: Type.Array(AuditEvent),
  }),

  async handle({ query, reader }) {
    const page = pageOf(query);
    const { operation, object, user_id: userId, outcome } = query;
    const filter = { operation, object, userId, outcome, ...periodOf(query.start_date, query.end_date) };
    const rows = await readAuditEvents(reader, { ...page, beforeId: query.after ?? MAX_INTEGER }, filter);
    return {
      paging_info: pagingInfo(page, rows),
      audit_events: shownRows(page, rows).map(auditEvent),
    };
  },
});

function periodOf(startDate: string | undefined, endDate: string | undefined): Pick<AuditFilter, "from" | "until"> {
  const from = startDate === undefined ? undefined : parseMoment("start_date", startDate).from;
  const end = endDate === undefined ? undefined : parseMoment("end_date", endDate);
  const until = end === undefined ? undefined : end.from + end.lengthMs;
  if (from !== undefined && until !== undefined && from >= until) {
    throw invalid("start_date", "must not be after end_date");
  }
  return { from: dateOf(from), until: dateOf(until) };
}

const dateOf = (ms: number | undefined): Date | undefined => (ms === undefined ? undefined : new Date(ms));

function auditEvent({ at, ...event }: AuditEventRow): Static<typeof AuditEvent> {
  return { ...event, at: isoSeconds(at) };
}
