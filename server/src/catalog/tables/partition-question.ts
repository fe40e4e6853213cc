import type { TableColumn } from "../../engines/hive-tables/table-columns.ts";
import { longestPartitionName, partitionName } from "../../engines/hive-thrift/partition-name.ts";
import type { Fault } from "../../lib/fault.ts";

/** Asks whether a table has partitions with certain values. Names are in lower case. */
export interface PartitionQuestion {
  readonly schema: string;
  readonly table: string;
  /** The wanted partitions of a table with these partition keys, or why it cannot have them. Pure. */
  combinations(keys: readonly TableColumn[]): readonly PartitionCombination[] | Fault;
}

/** For each partition key, in order, the accepted values. Undefined: any value is accepted. */
export type PartitionCombination = readonly (readonly string[] | undefined)[];

/** True if every combination has a partition. Undefined: there is no such table. */
export type PartitionAnswer = boolean | Fault | undefined;

/**
 * The possible partition names of a combination that has values for all keys, else undefined. Names that are too long
 * for Hive are left out.
 */
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

/** Each choice costs a lookup. */
const MAX_CHOICES = 8;

/** The Cartesian product; where it is too large, only the first values and the last values of all keys. */
export function eachChoice(accepted: readonly (readonly string[])[]): string[][] {
  if (accepted.reduce((product, { length }) => product * length, 1) > MAX_CHOICES) {
    return [accepted.map((values) => values[0] ?? ""), accepted.map((values) => values.at(-1) ?? "")];
  }
  return accepted.reduce<string[][]>(
    (all, values) => all.flatMap((before) => values.map((value) => [...before, value])),
    [[]],
  );
}
