import type { Queryable } from "../../db/database.ts";
import type { TableColumn } from "../../engines/hive-tables/table-columns.ts";
import { Fault } from "../../lib/fault.ts";
import {
  fullNames,
  type PartitionAnswer,
  type PartitionCombination,
  type PartitionQuestion,
} from "./partition-question.ts";
import { queryPartitions, type PartitionLookup, type TableLookup } from "./store/query-partitions.ts";

/** A cache of the tables' partition keys. Entries may be outdated: every use of one is checked. */
export interface KnownKeys {
  get(table: string): readonly TableColumn[] | undefined;
  set(table: string, keys: readonly TableColumn[]): unknown;
}

/** Bounds the retries for a table that keeps being recreated with other columns. */
const MAX_ROUNDS = 4;

/**
 * Answers all questions in one round trip. The partitions that a question means depend on the types of the table's
 * partition keys: the query assumes the cached keys and returns the current ones. Only if they differ is it repeated.
 */
export async function queryOwnPartitions(
  metastore: Queryable,
  known: KnownKeys,
  questions: readonly PartitionQuestion[],
): Promise<PartitionAnswer[]> {
  const answers = new Map<PartitionQuestion, PartitionAnswer>();
  let open = questions;
  for (let round = 0; open.length > 0 && round < MAX_ROUNDS; round += 1) {
    const queried = open.map((question) => ({ question, ...lookupFor(question, known.get(nameOf(question))) }));
    const found = await queryPartitions(
      metastore,
      queried.map(({ lookup }) => lookup),
    );
    open = queried.flatMap(({ question, keys, refusal }, at) => {
      const table = found[at];
      if (table?.keys === undefined) return [];
      known.set(nameOf(question), table.keys);
      if (keys === undefined || !isSame(keys, table.keys)) return [question];
      answers.set(question, refusal ?? !table.isMissingSome);
      return [];
    });
  }
  return questions.map((question) => answers.get(question));
}

interface QuestionLookup {
  readonly lookup: TableLookup;
  readonly keys: readonly TableColumn[] | undefined;
  readonly refusal?: Fault;
}

/** Without cached keys, only the keys are looked up. */
function lookupFor(question: PartitionQuestion, keys: readonly TableColumn[] | undefined): QuestionLookup {
  const { schema, table } = question;
  if (keys === undefined) return { lookup: { schema, table, partitions: [] }, keys };
  const combinations = question.combinations(keys);
  if (combinations instanceof Fault) return { lookup: { schema, table, partitions: [] }, keys, refusal: combinations };
  return { lookup: { schema, table, partitions: combinations.map((each) => partitionLookup(each, keys)) }, keys };
}

function partitionLookup(combination: PartitionCombination, keys: readonly TableColumn[]): PartitionLookup {
  const names = fullNames(combination, keys);
  if (names !== undefined) return { names };
  return { parts: combination.flatMap((values, index) => (values === undefined ? [] : [{ index, values }])) };
}

function nameOf({ schema, table }: PartitionQuestion): string {
  return `${schema}.${table}`;
}

function isSame(one: readonly TableColumn[], other: readonly TableColumn[]): boolean {
  return (
    one.length === other.length &&
    one.every(({ name, type }, at) => name === other[at]?.name && type === other[at]?.type)
  );
}
