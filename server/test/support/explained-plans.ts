import type { Client } from "pg";
import type { Queryable } from "../../src/db/database.ts";

/** A node of a plan, as EXPLAIN ANALYZE shows it. */
export interface PlanNode {
  readonly "Node Type": string;
  readonly "Relation Name"?: string;
  readonly "Index Name"?: string;
  readonly "Subplan Name"?: string;
  readonly "Actual Rows": number;
  readonly "Rows Removed by Filter"?: number;
  readonly "Actual Loops": number;
  readonly "Shared Hit Blocks": number;
  readonly "Shared Read Blocks": number;
  readonly Plans?: readonly PlanNode[];
}

/** Runs the statements of `work` with EXPLAIN ANALYZE. `work` gets no rows, so it must not need any. */
export async function explainedPlans(
  client: Client,
  work: (reader: Queryable) => Promise<unknown>,
): Promise<PlanNode[]> {
  const plans: PlanNode[] = [];
  await work({
    async query(text: string, values: readonly unknown[] = []): Promise<never[]> {
      plans.push(await explainedPlan(client, text, values));
      return [];
    },
  });
  return plans;
}

export async function explainedPlan(client: Client, text: string, values: readonly unknown[] = []): Promise<PlanNode> {
  const { rows } = await client.query<{ "QUERY PLAN": [{ Plan: PlanNode }] }>(
    `explain (analyze, buffers, format json) ${text}`,
    [...values],
  );
  const [row] = rows;
  if (row === undefined) throw new Error("there is no plan");
  return row["QUERY PLAN"][0].Plan;
}

/** The blocks that the statement read. */
export function buffersOf(plan: PlanNode): number {
  return plan["Shared Hit Blocks"] + plan["Shared Read Blocks"];
}

export function nodesOf(plan: PlanNode): PlanNode[] {
  return [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];
}
