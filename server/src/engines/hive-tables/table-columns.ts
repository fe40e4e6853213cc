/**
 * The columns of a table as its users see them. If Hive cannot express a schema, Spark stores it as JSON in the table's
 * parameters, in parts if it is long, and Hive has only a placeholder, `col array<string>`. Spark's schema, which includes
 * the partition columns, takes precedence; otherwise the columns are Hive's, followed by the partition keys.
 */
export interface TableColumn {
  readonly name: string;
  /** As in Spark's `DESCRIBE`: `bigint`, `array<string>`, `struct<a:int>`. */
  readonly type: string;
  readonly comment: string | null;
}

export interface HiveColumns {
  readonly columns: readonly TableColumn[];
  readonly partitionKeys: readonly TableColumn[];
  /** Only the schema parameters (`spark.sql.sources.schema…`) are used. */
  readonly parameters: ReadonlyMap<string, string>;
}

const SCHEMA = "spark.sql.sources.schema";
const PART_COUNT = `${SCHEMA}.numParts`;
const MAX_PARTS = 10_000;
/** A schema with thousands of columns takes some hundred KB. */
const MAX_SCHEMA_LENGTH = 1024 * 1024;
/** Metadata key with the real type of a column that Spark represents as a string. */
const REAL_TYPE = "__CHAR_VARCHAR_TYPE_STRING";

export function tableColumns({ columns, partitionKeys, parameters }: HiveColumns): readonly TableColumn[] {
  const schema = schemaText(parameters);
  return (schema === undefined ? undefined : sparkColumns(schema)) ?? [...columns, ...partitionKeys];
}

/** Parses Spark's schema. Undefined if it is not valid. */
export function sparkColumns(text: string): TableColumn[] | undefined {
  try {
    const schema: unknown = JSON.parse(text);
    if (!isRecord(schema) || !Array.isArray(schema["fields"])) return undefined;
    return schema["fields"].map((field) => sparkColumn(field, 0));
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** Undefined if Spark stored no schema, or an implausibly long one. */
export function schemaText(parameters: ReadonlyMap<string, string>): string | undefined {
  const text = joinedText(parameters);
  return text === undefined || text.length > MAX_SCHEMA_LENGTH ? undefined : text;
}

function joinedText(parameters: ReadonlyMap<string, string>): string | undefined {
  const whole = parameters.get(SCHEMA);
  if (whole !== undefined) return whole;
  const count = Number(parameters.get(PART_COUNT) ?? 0);
  if (!(count > 0 && count <= MAX_PARTS)) return undefined;
  const parts = Array.from({ length: count }, (_, index) => parameters.get(`${SCHEMA}.part.${index}`));
  return parts.includes(undefined) ? undefined : parts.join("");
}

/** Spark itself parses types recursively and would fail at such a depth. */
const MAX_TYPE_DEPTH = 200;

function sparkColumn(field: unknown, depth: number): TableColumn {
  if (!isRecord(field) || typeof field["name"] !== "string") throw new SyntaxError();
  const metadata = isRecord(field["metadata"]) ? field["metadata"] : {};
  const { [REAL_TYPE]: realType, comment } = metadata;
  return {
    name: field["name"],
    type: typeof realType === "string" ? realType : typeText(field["type"], depth),
    comment: typeof comment === "string" ? comment : null,
  };
}

/** SQL names of the types that have another name in Spark's JSON. */
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
  if (!isRecord(type) || depth === MAX_TYPE_DEPTH) throw new SyntaxError();
  const inner = (of: unknown): string => typeText(of, depth + 1);
  switch (type["type"]) {
    case "array":
      return `array<${inner(type["elementType"])}>`;
    case "map":
      return `map<${inner(type["keyType"])},${inner(type["valueType"])}>`;
    case "struct": {
      if (!Array.isArray(type["fields"])) throw new SyntaxError();
      return `struct<${type["fields"]
        .map((field) => sparkColumn(field, depth + 1))
        .map(({ name, type: of }) => `${name}:${of}`)
        .join(",")}>`;
    }
    case "udt":
      return inner(type["sqlType"] ?? "void");
    default:
      throw new SyntaxError();
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
