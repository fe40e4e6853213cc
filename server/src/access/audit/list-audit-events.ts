import { Type, type Static } from "typebox";
import { pageOf, PageQuery, PagingInfo, pagingInfo, shownRows } from "../../http/paging.ts";
import { Id, MAX_INTEGER, Nullable, OneOf, Timestamp } from "../../http/schema.ts";
import { isoSeconds } from "../../lib/clock.ts";
import { operation } from "../operation.ts";
import { listAuditEvents as readAuditEvents, type AuditEventRow } from "./store.ts";

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
});

/** Changes and refusals in the account: newest first, by page or by the cursor `after`. */
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
  }),
  reply: Type.Object({
    paging_info: PagingInfo,
    audit_events: Type.Array(AuditEvent),
  }),

  async handle({ query, reader }) {
    const page = pageOf(query);
    const rows = await readAuditEvents(reader, { ...page, beforeId: query.after ?? MAX_INTEGER });
    return {
      paging_info: pagingInfo(page, rows),
      audit_events: shownRows(page, rows).map(auditEvent),
    };
  },
});

function auditEvent({ at, ...event }: AuditEventRow): Static<typeof AuditEvent> {
  return { ...event, at: isoSeconds(at) };
}
