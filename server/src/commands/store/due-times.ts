import type { Queryable } from "../../db/database.ts";
import { FREE } from "./queue.ts";

/** Added to the delay of a retry, for a run that a node has released. */
const SLACK_SECONDS = 5;
/** Publishing is retried after a minute at the latest. */
const PUBLISHING_SECONDS = 61;

/**
 * Repairs due times after the database's clock was set back: a due time further ahead than the longest delay would keep its
 * command waiting until the clock has caught up. Commands without a delay become due now, in the order of their ids; a retry
 * waits for its whole delay again. Repeating it changes nothing.
 */
export async function repairDueTimes(db: Queryable, nodeId: string): Promise<void> {
  await db.query(
    `with ahead as (
       select id from command
       where ${FREE} and due_at > now() + case status when 'waiting' then interval '0'
         else make_interval(mins => retry_delay_minutes, secs => $1) end
       order by id for update skip locked
     )
     update command set due_at = now() + case status when 'waiting' then interval '0'
       else make_interval(mins => retry_delay_minutes) end
     from ahead where command.id = ahead.id`,
    [SLACK_SECONDS],
  );
  await db.query(
    "update command_publishing set due_at = now() where node_id = $1 and due_at > now() + make_interval(secs => $2)",
    [nodeId, PUBLISHING_SECONDS],
  );
}
