import type { HiveClient } from "../../engines/hive-thrift/hive-client.ts";
import { partitionName } from "../../engines/hive-thrift/partition-name.ts";
import { limitConcurrency } from "../../lib/limit-concurrency.ts";
import { Fault } from "../../lib/fault.ts";
import { eachChoice, fullNames, type PartitionCombination, type PartitionQuestion } from "./partition-question.ts";
import type { CatalogTable } from "./table-catalog.ts";

const CALL_CONCURRENCY = 4;

/** Full partition names need one call together, anything else one call for each combination and spelling. */
export async function queryExternalPartitions(
  client: HiveClient,
  { schema, name, partitionKeys: keys }: Pick<CatalogTable, "schema" | "name" | "partitionKeys">,
  question: PartitionQuestion,
  signal: AbortSignal,
): Promise<boolean | Fault> {
  const combinations = question.combinations(keys);
  if (combinations instanceof Fault) return combinations;
  const named = combinations.map((each) => fullNames(each, keys)).filter((names) => names !== undefined);
  if (named.length === combinations.length) {
    const existing = new Set<string>();
    for await (const some of client.partitionsByNames(schema, name, named.flat(), signal)) {
      for (const { values } of some) existing.add(partitionName(keys, values));
    }
    return named.every((names) => names.some((each) => existing.has(each)));
  }
  const inTurn = limitConcurrency(CALL_CONCURRENCY);
  let isMissingSome = false;
  await Promise.all(
    combinations.map((combination) =>
      inTurn(async () => {
        if (isMissingSome || (await hasSome(client, { schema, name }, combination, signal))) return;
        isMissingSome = true;
      }),
    ),
  );
  return !isMissingSome;
}

async function hasSome(
  client: HiveClient,
  { schema, name }: { schema: string; name: string },
  combination: PartitionCombination,
  signal: AbortSignal,
): Promise<boolean> {
  const last = combination.findLastIndex((values) => values !== undefined);
  for (const values of eachChoice(combination.slice(0, last + 1).map((each) => each ?? [""]))) {
    const names = await client.partitionNames(schema, name, { values, limit: 1 }, signal);
    if (names.length > 0) return true;
  }
  return false;
}
