import type { BenchNode } from "./bench-node.ts";

export const COMMON_TAG = "nightly";
export const SPARSE_TAG = "rare";
/** The number of commands with the sparse tag, independent of the total. */
const SPARSE_COUNT = 40;
const USERS = 10;
const WINDOW = "interval '29 days'";

/** `count` commands of several users, evenly spread over the last 29 days; every tenth is the caller's. */
export async function seedHistory({ sql, account }: Pick<BenchNode, "sql" | "account">, count: number): Promise<void> {
  const { accountId, userId } = account;
  await sql.query("set synchronous_commit = off");
  await sql.query(
    `insert into command (account_id, user_id, cluster_id, label, kind, command_type, command, name, request_id, status,
       progress, created_at, start_time, end_time, num_result_dir, fence, attempt)
     select $1, case when n % ${USERS} = 0 then $2 else $2 + 1000 + n % ${USERS} end,
            (select cluster_id from cluster_label where account_id = $1), 'default', 'program', 'SparkCommand',
            json_build_object('program', 'print(' || n || ')', 'sql', null, 'cmdline', null, 'script_location', null,
              'language', 'python', 'arguments', null, 'user_program_arguments', null, 'app_id', null, 'note_id', null,
              'retry', null, 'retry_delay', null),
            'report ' || n % 100, gen_random_uuid()::text, case when n % 20 = 7 then 'error' else 'done' end, 100,
            at, at + interval '1 second', at + interval '20 seconds', 1, 1, 1
     from (select n, now() - ${WINDOW} + n * (${WINDOW} / $3::integer) as at from generate_series(1, $3::integer) n) each`,
    [accountId, userId, count],
  );
  await sql.query(
    `insert into command_tag (account_id, command_id, tag, created_at)
     select account_id, id, case when id % ($1::bigint / ${SPARSE_COUNT}) = 0 then '${SPARSE_TAG}' else '${COMMON_TAG}' end,
            created_at
     from command where id % 3 = 0 or id % ($1::bigint / ${SPARSE_COUNT}) = 0`,
    [count],
  );
  await sql.query("vacuum (analyze) command");
  await sql.query("vacuum (analyze) command_tag");
  await sql.query("checkpoint").catch(() => undefined); // the owner may lack the privilege
}
