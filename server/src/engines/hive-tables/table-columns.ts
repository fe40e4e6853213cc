/**
 * The columns of a table as its users know them. What Hive cannot express Spark keeps beside Hive's own columns, as JSON
 * in the table's parameters, cut in parts where it is long; Hive's column is `col array<string>` then. Where Spark has
 * written its own, partition columns included, that is the truth; else it is Hive's columns with the partition keys.
 */
export interface TableColumn {
  readonly name: string;
  /** As Spark's `DESCRIBE` shows it: `bigint`, `array<string>`, `struct<a:int>`. */
  readonly type: string;
  readonly comment: string | null;
}

export interface HiveColumns {
  readonly columns: readonly TableColumn[];
  readonly partitionKeys: readonly TableColumn[];
  /** Those of the schema are enough. */
  readonly parameters: ReadonlyMap<string, string>;
}

const SCHEMA = "spark.sql.sources.schema";
const PART_COUNT = `${SCHEMA}.numParts`;
const MANY_PARTS = 10_000;
/** Of Spark's text for all columns together; thousands of them take some hundred KB. */
const LONGEST_SCHEMA = 1024 * 1024;
/** Of Spark's view of a string that is to have a length. */
const TRUE_TYPE = "__CHAR_VARCHAR_TYPE_STRING";

export function tableColumns({ columns, partitionKeys, parameters }: HiveColumns): readonly TableColumn[] {
  const schema = schemaText(parameters);
  return (schema === undefined ? undefined : sparkColumns(schema)) ?? [...columns, ...partitionKeys];
}

/** Of a schema as Spark writes it. Undefined: it cannot be read. */
export function sparkColumns(text: string): TableColumn[] | undefined {
  try {
    const schema: unknown = JSON.parse(text);
    if (!isRecord(schema) || !Array.isArray(schema["fields"])) return undefined;
    return schema["fields"].map((field) => sparkColumn(field, 0));
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof UnknownType) return undefined;
    throw error;
  }
}

/** Undefined: Spark has written none, or it is longer than any of its. */
export function schemaText(parameters: ReadonlyMap<string, string>): string | undefined {
  const text = keptText(parameters);
  return text === undefined || text.length > LONGEST_SCHEMA ? undefined : text;
}

function keptText(parameters: ReadonlyMap<string, string>): string | undefined {
  const whole = parameters.get(SCHEMA);
  if (whole !== undefined) return whole;
  const count = Number(parameters.get(PART_COUNT) ?? 0);
  if (!(count > 0 && count <= MANY_PARTS)) return undefined;
  const parts = Array.from({ length: count }, (_, index) => parameters.get(`${SCHEMA}.part.${index}`));
  return parts.includes(undefined) ? undefined : parts.join("");
}

class UnknownType extends Error {}

/** Spark itself reads a type by recursion, so no table of its has one as deep. */
const DEEPEST_TYPE = 200;

function sparkColumn(field: unknown, depth: number): TableColumn {
  if (!isRecord(field) || typeof field["name"] !== "string") throw new UnknownType();
  const metadata = isRecord(field["metadata"]) ? field["metadata"] : {};
  const { [TRUE_TYPE]: told, comment } = metadata;
  return {
    name: field["name"],
    type: typeof told === "string" ? told : typeText(field["type"], depth),
    comment: typeof comment === "string" ? comment : null,
  };
}

/** The names in Spark's JSON that are not those of its SQL. */
export const SQL_NAMES: ReadonlyMap<string, string> = new Map([
  ["byte", "tinyint"],
  ["short", "smallint"],
  ["integer", "int"],
  ["long", "bigint"],
  ["decimal", "decimal(10,0)"],
  ["null", "void"],
]);

function typeText(type: unknown, depth: number): string {
  if (typeof type === "string") return SQL_NAMES.get(type) ?? type;
  if (!isRecord(type) || depth === DEEPEST_TYPE) throw new UnknownType();
  const inner = (of: unknown): string => typeText(of, depth + 1);
  switch (type["type"]) {
    case "array":
      return `array<${inner(type["elementType"])}>`;
    case "map":
      return `map<${inner(type["keyType"])},${inner(type["valueType"])}>`;
    case "struct": {
      if (!Array.isArray(type["fields"])) throw new UnknownType();
      return `struct<${type["fields"]
        .map((field) => sparkColumn(field, depth + 1))
        .map(({ name, type: of }) => `${name}:${of}`)
        .join(",")}>`;
    }
    case "udt":
      return inner(type["sqlType"] ?? "void");
    default:
      throw new UnknownType();
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
