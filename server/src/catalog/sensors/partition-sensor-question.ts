import type { TableColumn } from "../../engines/hive-tables/table-columns.ts";
import { Fault, invalid } from "../../lib/fault.ts";
import type { PartitionCombination, PartitionQuestion } from "../tables/partition-question.ts";
import { givenValues } from "./given-values.ts";
import type { WaitedQuestion } from "./sensor-waits.ts";
import { exampleOf, spellings, type GivenValue } from "./value-spellings.ts";

export interface GivenColumn {
  readonly column: string;
  readonly values: unknown;
}

interface SensorColumn {
  readonly name: string;
  readonly field: string;
  readonly values: readonly SensorValue[];
}

interface SensorValue {
  readonly value: GivenValue;
  /** Its index in the request. Duplicates are removed. */
  readonly at: number;
}

const MAX_COMBINATIONS = 1000;

/** The key ignores order and case. The size is the number of combinations. */
export interface PartitionSensorQuestion extends PartitionQuestion, WaitedQuestion {}

/** Parses and validates the columns of a sensor as far as possible without the table. Pure. */
export function partitionSensorQuestion(
  schema: string,
  table: string,
  given: readonly GivenColumn[],
): PartitionSensorQuestion {
  const columns = given.map(({ column, values }, at): SensorColumn => {
    const field = `columns[${at}]`;
    const distinct = new Map<string, SensorValue>();
    givenValues(`${field}.values`, values).forEach((value, index) => {
      if (!distinct.has(textOf(value))) distinct.set(textOf(value), { value, at: index });
    });
    return { name: column.toLowerCase(), field, values: [...distinct.values()] };
  });
  const duplicate = columns.find(({ name }, at) => columns.findIndex((other) => other.name === name) < at);
  if (duplicate !== undefined)
    throw invalid(`${duplicate.field}.column`, `must not name ${duplicate.name} a second time`);
  const size = columns.reduce((product, { values }) => product * values.length, 1);
  if (size > MAX_COMBINATIONS) throw invalid("columns", `must have at most ${MAX_COMBINATIONS} combinations of values`);
  const inOrder = columns.toSorted((one, other) => (one.name < other.name ? -1 : 1));
  const normalized = inOrder.map(({ name, values }) => [name, values.map(({ value }) => textOf(value)).toSorted()]);
  return {
    schema: schema.toLowerCase(),
    table: table.toLowerCase(),
    key: JSON.stringify([schema.toLowerCase(), table.toLowerCase(), normalized]),
    size,
    combinations: (keys) => faultAsValue(() => combinations(columns, keys)),
  };
}

function textOf(value: GivenValue): string {
  return String(value ?? "");
}

function faultAsValue<T>(work: () => T): T | Fault {
  try {
    return work();
  } catch (error) {
    if (error instanceof Fault) return error;
    throw error;
  }
}

function combinations(columns: readonly SensorColumn[], keys: readonly TableColumn[]): PartitionCombination[] {
  if (keys.length === 0) {
    throw invalid(
      "table",
      "is not partitioned, or keeps its partitions outside of the metastore like tables of Delta Lake and Apache Iceberg",
    );
  }
  const unknown = columns.find(({ name }) => !keys.some((key) => key.name.toLowerCase() === name));
  if (unknown !== undefined) {
    const names = keys.map((key) => key.name).join(", ");
    throw invalid(`${unknown.field}.column`, `must be a partition column of the table: ${names}`);
  }
  const choices = keys.map((key) => {
    const column = columns.find(({ name }) => name === key.name.toLowerCase());
    return column === undefined ? [undefined] : column.values.map((value) => spellingsOf(column, value, key.type));
  });
  return choices.reduce<PartitionCombination[]>(
    (all, some) => all.flatMap((before) => some.map((each) => [...before, each])),
    [[]],
  );
}

function spellingsOf({ name, field }: SensorColumn, { value, at }: SensorValue, type: string): readonly string[] {
  const found = spellings(type, value);
  if (found === undefined) {
    throw invalid(`${field}.values[${at}]`, `must be ${exampleOf(type)}: ${name} is of type ${type}`);
  }
  return found;
}
