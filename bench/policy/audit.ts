import type { BenchNode } from "../commands/bench-node.ts";
import { compare, type Side } from "./compare.ts";
import { newAccount, type BenchAccount } from "./members.ts";

const FEW = 10_000;
const MANY = 1_000_000;
/** How many events have the rare operation, user and object, in both accounts. */
const RARE = 50;

const FILTERS = {
  operation: "operation=rare_operation",
  object: "object=cluster/7",
  "operation and outcome": "operation=rare_operation&outcome=done",
  "user and operation": "user_id=7&operation=rare_operation",
  "user and operation that never occur together": "user_id=100&operation=operation_1",
  dates: "start_date=2026-01-10&end_date=2026-01-11",
};

/** Compares filtered pages of audit events in a large account with those in a small one. */
export async function benchAudit(node: BenchNode): Promise<boolean> {
  const few = await accountWithEvents(node, "small", FEW);
  const many = await accountWithEvents(node, "large", MANY);
  await node.sql.query("vacuum (analyze) audit_event");
  const results: boolean[] = [];
  for (const [title, query] of Object.entries(FILTERS)) {
    const side = (name: string, { admin }: BenchAccount): Side => ({
      title: name,
      work: async () => {
        const reply = await admin.call<{ audit_events: unknown[] }>("GET", `/api/v2/audit_events?${query}`);
        const expected = query === FILTERS["user and operation that never occur together"] ? 0 : 10;
        const { length } = reply.audit_events;
        if (length !== expected) throw new Error(`${query} shows ${length} events instead of ${expected}`);
      },
    });
    results.push(await compare(`audit events by ${title}`, side(`of ${MANY}`, many), side(`of ${FEW}`, few), 1.5));
  }
  return results.every(Boolean);
}

async function accountWithEvents(node: BenchNode, name: string, count: number): Promise<BenchAccount> {
  const account = await newAccount(node, `audit-${name}`);
  await node.sql.query(
    `insert into audit_event (account_id, at, user_id, email, address, operation, object, outcome, request_id)
     select $1, timestamptz '2026-01-01Z' + n * (interval '30 days' / $2::integer),
            case when is_rare then 7 else 100 + n % 10 end, 'someone@example.test', '127.0.0.1',
            case when is_rare then 'rare_operation' else 'operation_' || n % 20 end,
            case when is_rare then 'cluster/7' else 'command/' || n end, 'done', gen_random_uuid()::text
       from (select n, n % ($2::integer / ${RARE}) = 0 as is_rare from generate_series(1, $2::integer) n) each`,
    [account.accountId, count],
  );
  return account;
}
