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

interface AskedColumn {
  readonly name: string;
  readonly field: string;
  readonly values: readonly AskedValue[];
}

interface AskedValue {
  readonly value: GivenValue;
  /** Its place as it was given; equal ones count once. */
  readonly at: number;
}

const MOST_COMBINATIONS = 1000;

/** Its key is the same however it is put, its size how many combinations are asked. */
export interface PartitionSensorQuestion extends PartitionQuestion, WaitedQuestion {}

/** What a partition sensor is asked, judged as far as it can be without the table. Pure. */
export function partitionSensorQuestion(
  schema: string,
  table: string,
  given: readonly GivenColumn[],
): PartitionSensorQuestion {
  const columns = given.map(({ column, values }, at): AskedColumn => {
    const field = `columns[${at}]`;
    const unlike = new Map<string, AskedValue>();
    givenValues(`${field}.values`, values).forEach((value, place) => {
      if (!unlike.has(textOf(value))) unlike.set(textOf(value), { value, at: place });
    });
    return { name: column.toLowerCase(), field, values: [...unlike.values()] };
  });
  const twice = columns.find(({ name }, at) => columns.findIndex((other) => other.name === name) < at);
  if (twice !== undefined) throw invalid(`${twice.field}.column`, `${twice.name} is named twice`);
  const size = columns.reduce((product, { values }) => product * values.length, 1);
  if (size > MOST_COMBINATIONS)
    throw invalid("columns", `must have at most ${MOST_COMBINATIONS} combinations of values`);
  const inOrder = columns.toSorted((one, other) => (one.name < other.name ? -1 : 1));
  const asked = inOrder.map(({ name, values }) => [name, values.map(({ value }) => textOf(value)).toSorted()]);
  return {
    schema: schema.toLowerCase(),
    table: table.toLowerCase(),
    key: JSON.stringify([schema.toLowerCase(), table.toLowerCase(), asked]),
    size,
    combinations: (keys) => refusalOr(() => combinations(columns, keys)),
  };
}

function textOf(value: GivenValue): string {
  return String(value ?? "");
}

function refusalOr<T>(work: () => T): T | Fault {
  try {
    return work();
  } catch (error) {
    if (error instanceof Fault) return error;
    throw error;
  }
}

function combinations(columns: readonly AskedColumn[], keys: readonly TableColumn[]): PartitionCombination[] {
  if (keys.length === 0) throw invalid("table", "is not partitioned");
  const stranger = columns.find(({ name }) => !keys.some((key) => key.name.toLowerCase() === name));
  if (stranger !== undefined) {
    const names = keys.map((key) => key.name).join(", ");
    throw invalid(`${stranger.field}.column`, `must be a partition column of the table: ${names}`);
  }
  const choices = keys.map((key) => {
    const asked = columns.find(({ name }) => name === key.name.toLowerCase());
    return asked === undefined ? [undefined] : asked.values.map((value) => spellingsOf(asked, value, key.type));
  });
  return choices.reduce<PartitionCombination[]>(
    (all, some) => all.flatMap((before) => some.map((each) => [...before, each])),
    [[]],
  );
}

function spellingsOf({ name, field }: AskedColumn, { value, at }: AskedValue, type: string): readonly string[] {
  const found = spellings(type, value);
  if (found === undefined) {
    throw invalid(`${field}.values[${at}]`, `must be ${exampleOf(type)}: ${name} is of type ${type}`);
  }
  return found;
}
