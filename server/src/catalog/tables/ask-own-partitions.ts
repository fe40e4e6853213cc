import type { Queryable } from "../../db/database.ts";
import type { TableColumn } from "../../engines/hive-tables/table-columns.ts";
import { Fault } from "../../lib/fault.ts";
import {
  fullNames,
  type PartitionAnswer,
  type PartitionCombination,
  type PartitionQuestion,
} from "./partition-question.ts";
import { askPartitions, type AskedPartition, type AskedTable } from "./store/ask-partitions.ts";

/** What tables are partitioned by, as far as somebody has asked; may be out of date, but never trusted. */
export interface KnownKeys {
  get(table: string): readonly TableColumn[] | undefined;
  set(table: string, keys: readonly TableColumn[]): unknown;
}

/** A table that is made anew with other columns all the time is asked no more often. */
const MOST_TURNS = 4;

/**
 * All questions in one round trip. Which partitions a question means depends on the types of the table's columns, so it
 * is put by those that are known of it, and the answer tells the true ones: only when they differ is it asked again.
 */
export async function askOwnPartitions(
  metastore: Queryable,
  known: KnownKeys,
  questions: readonly PartitionQuestion[],
): Promise<PartitionAnswer[]> {
  const answers = new Map<PartitionQuestion, PartitionAnswer>();
  let open = questions;
  for (let turn = 0; open.length > 0 && turn < MOST_TURNS; turn += 1) {
    const put = open.map((question) => ({ question, ...askedBy(question, known.get(nameOf(question))) }));
    const found = await askPartitions(
      metastore,
      put.map(({ asked }) => asked),
    );
    open = put.flatMap(({ question, keys, refusal }, at) => {
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

interface Asked {
  readonly asked: AskedTable;
  readonly keys: readonly TableColumn[] | undefined;
  readonly refusal?: Fault;
}

/** By keys that are not known nothing is asked but those. */
function askedBy(question: PartitionQuestion, keys: readonly TableColumn[] | undefined): Asked {
  const { schema, table } = question;
  if (keys === undefined) return { asked: { schema, table, partitions: [] }, keys };
  const combinations = question.combinations(keys);
  if (combinations instanceof Fault) return { asked: { schema, table, partitions: [] }, keys, refusal: combinations };
  return { asked: { schema, table, partitions: combinations.map((each) => askedPartition(each, keys)) }, keys };
}

function askedPartition(combination: PartitionCombination, keys: readonly TableColumn[]): AskedPartition {
  const names = fullNames(combination, keys);
  if (names !== undefined) return { names };
  return { parts: combination.flatMap((values, place) => (values === undefined ? [] : [{ place, values }])) };
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
