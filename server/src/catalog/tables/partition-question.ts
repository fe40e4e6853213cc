import type { TableColumn } from "../../engines/hive-tables/table-columns.ts";
import { longestPartitionName, partitionName } from "../../engines/hive-thrift/partition-name.ts";
import type { Fault } from "../../lib/fault.ts";

/** Whether a table has partitions with certain values. Names are in lower case. */
export interface PartitionQuestion {
  readonly schema: string;
  readonly table: string;
  /** Those that are asked of a table that is partitioned by these columns, or why there can be none. Pure. */
  combinations(keys: readonly TableColumn[]): readonly PartitionCombination[] | Fault;
}

/** For each partition column, in order, values of which a partition has one. Undefined: it may have any. */
export type PartitionCombination = readonly (readonly string[] | undefined)[];

/** Whether each of the combinations has a partition. Undefined: there is no such table. */
export type PartitionAnswer = boolean | Fault | undefined;

/** The names of the partitions that it can be, when it has a value for every column; none when all are too long. */
export function fullNames(
  combination: PartitionCombination,
  keys: readonly Pick<TableColumn, "name">[],
): readonly string[] | undefined {
  const wholes = combination.filter((values) => values !== undefined);
  if (wholes.length < keys.length) return undefined;
  return eachChoice(wholes)
    .map((values) => partitionName(keys, values))
    .filter(({ length }) => length <= longestPartitionName);
}

/** Each would be a lookup of its own. */
const MOST_CHOICES = 8;

/** One value for each place, in every way; where those are many, the first of each and the last of each alone. */
export function eachChoice(places: readonly (readonly string[])[]): string[][] {
  if (places.reduce((product, { length }) => product * length, 1) > MOST_CHOICES) {
    return [places.map((values) => values[0] ?? ""), places.map((values) => values.at(-1) ?? "")];
  }
  return places.reduce<string[][]>(
    (all, values) => all.flatMap((before) => values.map((value) => [...before, value])),
    [[]],
  );
}
