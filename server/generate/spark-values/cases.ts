/** Queries whose results show every type that Spark sends as Arrow, and the values of each that are written oddly. */
export interface ValueCase {
  readonly name: string;
  readonly sql: string;
  /** Of the session. */
  readonly settings?: Readonly<Record<string, string>>;
}

const zone = (name: string): Record<string, string> => ({ "spark.sql.session.timeZone": name });

/** One row for each expression. */
const rows = (type: string, values: readonly string[]): string =>
  `SELECT CAST(v AS ${type}) AS v FROM VALUES ${values.map((value) => `(${value})`).join(", ")} AS t(v)`;
const each = (values: readonly string[]): string => values.map((value) => `SELECT ${value} AS v`).join(" UNION ALL ");

const doubles = `0.0 -0.0 1.0 -1.5 0.1 0.001 0.00099 1234567.0 9999999.0 9999999.5 10000000.0 12345678.9 1e10 1e21 1e22
  123456789012345680 9007199254740993 4611686018427387905 9223372036854775807 1.7976931348623157e308 4.9e-324
 2.2250738585072014e-308 3.141592653589793 0.3333333333333333 100.25 2e-3 5e-5`.split(/\s+/);
const floats = `0.0 -0.0 1.0 -1.5 0.1 0.001 0.00099 16777216 16777217 123456789 9999999 3.4028235e38 1.4e-45
  3.1415927 0.33333334 100.25 1e10 0.400390625 5e-5 33554434 2147483648 9.2233720e18`.split(/\s+/);

const timestamps = `1970-01-01T00:00:00Z 2024-02-29T12:34:56.789Z 2023-11-05T05:30:00Z 2023-11-05T06:30:00Z
  2023-03-12T06:59:59.999999Z 2023-03-12T07:00:00Z 1883-11-18T17:03:58Z 1883-11-18T16:00:00Z 1900-01-01T00:00:00.000001Z
  0001-01-03T00:00:00Z 1582-10-10T00:00:00Z 9999-12-30T23:59:59.5Z 2016-07-10T00:00:00.100Z`
  .split(/\s+/)
  .map((text) => `TIMESTAMP '${text}'`);

export const valueCases: readonly ValueCase[] = [
  {
    name: "integers",
    sql: `SELECT CAST(a AS TINYINT), CAST(a AS SMALLINT), CAST(b AS INT), c FROM VALUES
      (0, 0, 0L), (127, 2147483647, 9223372036854775807L), (-128, -2147483648, -9223372036854775808L),
      (1, 100000000, 9007199254740993L), (NULL, NULL, NULL), (-9, -99999999, -9007199254740992L),
      (10, 123456789, 4294967296L) AS t(a, b, c)`,
  },
  {
    name: "doubles",
    sql: rows("DOUBLE", ["'NaN'", "'Infinity'", "'-Infinity'", "NULL", ...doubles.map((d) => `'${d}'`)]),
  },
  {
    name: "floats",
    sql: rows("FLOAT", ["'NaN'", "'Infinity'", "'-Infinity'", "NULL", ...floats.map((f) => `'${f}'`)]),
  },
  {
    name: "doubles of all sizes",
    sql: "SELECT rand(1), (rand(2) - 0.5D) * pow(10D, id % 36 - 18), round(rand(3) * 1000, 2), id * 0.1D FROM range(0, 300, 1, 1)",
  },
  {
    name: "floats of all sizes",
    sql: "SELECT CAST(rand(1) AS FLOAT), CAST((rand(2) - 0.5D) * pow(10D, id % 36 - 18) AS FLOAT), CAST(id * 0.1D AS FLOAT), CAST(pow(2D, id % 30 - 12) AS FLOAT) FROM range(0, 300, 1, 1)",
  },
  {
    name: "decimals",
    sql: `SELECT CAST(v AS DECIMAL(10,2)), CAST(v AS DECIMAL(38,10)), CAST(v AS DECIMAL(9,0)), CAST(v AS DECIMAL(38,0)) FROM VALUES
      ('0'), ('1'), ('-0.01'), ('12345678.99'), ('-99999999.99'), (NULL), ('0.1'), ('-1') AS t(v)`,
  },
  {
    name: "the widest decimals",
    sql: each([
      "CAST('99999999999999999999999999999999999999' AS DECIMAL(38,0))",
      "CAST('-99999999999999999999999999999999999999' AS DECIMAL(38,0))",
      "CAST('9223372036854775808' AS DECIMAL(38,0))",
      "CAST('-9223372036854775809' AS DECIMAL(38,0))",
    ]),
  },
  {
    name: "fractions alone",
    sql: rows("DECIMAL(38,38)", ["'0.00000000000000000000000000000000000001'", "'-0.5'", "'0'", "NULL"]),
  },
  {
    name: "booleans and nothing",
    sql: "SELECT v, NULL, array(), array(NULL) FROM VALUES (true), (false), (NULL) AS t(v)",
  },
  {
    name: "strings",
    sql: String.raw`SELECT v FROM VALUES ('plain'), (''), (NULL), ('a\tb'), ('two\nlines'), ('"quoted"'), ('back\\slash'),
      ('größe 漢字 😀'), ('a,b;c'), ('NULL'), ('\u0001'), (' spaces ') AS t(v)`,
  },
  {
    name: "other kinds of strings",
    sql: "SELECT CAST('ab' AS CHAR(5)), CAST('abc' AS VARCHAR(5)), 'x' COLLATE UTF8_LCASE, CAST(X'41FFC3' AS STRING), CAST(X'E282' AS STRING)",
  },
  {
    name: "binary",
    sql: "SELECT v, array(v), named_struct('b', v) FROM VALUES (X'41'), (X''), (X'FF00C328'), (NULL), (X'E6BCA2') AS t(v)",
  },
  {
    name: "dates",
    sql: `SELECT v FROM VALUES (DATE '1970-01-01'), (DATE '1969-12-31'), (DATE '2000-02-29'), (DATE '1900-03-01'),
      (DATE '0001-01-01'), (DATE '0000-12-31'), (DATE '-0044-03-15'), (DATE '9999-12-31'), (DATE '10000-01-01'),
      (DATE '294247-01-10'), (DATE '1582-10-10'), (DATE '-290308-12-21'), (NULL) AS t(v)`,
  },
  ...["UTC", "America/New_York", "Asia/Kolkata", "+05:45", "PST", "GMT-3", "Australia/Lord_Howe"].map((name) => ({
    name: `timestamps in ${name}`,
    sql: each([...timestamps, "CAST(NULL AS TIMESTAMP)"]),
    settings: zone(name),
  })),
  {
    name: "timestamps at the ends of time",
    sql: "SELECT timestamp_micros(v) FROM VALUES (9223372036854775807L), (-9223372036854775808L), (0L), (253402300800000000L), (9007199254740993L) AS t(v)",
    settings: zone("Europe/Berlin"),
  },
  ...["America/Los_Angeles", "Europe/Dublin", "Asia/Kathmandu"].map((name) => ({
    name: `timestamps of two centuries in ${name}`,
    sql: "SELECT timestamp_micros(CAST(rand(5) * 6e15 - 4.3e15 AS BIGINT)) FROM range(0, 200, 1, 1)",
    settings: zone(name),
  })),
  {
    name: "timestamps without zone",
    sql: `SELECT v, array(v) FROM VALUES (TIMESTAMP_NTZ '2024-02-29 12:34:56.789'), (TIMESTAMP_NTZ '1970-01-01 00:00:00'),
      (TIMESTAMP_NTZ '1969-12-31 23:59:59.999999'), (TIMESTAMP_NTZ '0001-01-01 00:00:00'),
      (TIMESTAMP_NTZ '+12345-01-01 00:00:00'), (NULL) AS t(v)`,
    settings: zone("Asia/Tokyo"),
  },
  {
    name: "times",
    sql: `SELECT v, array(v), named_struct('t', v) FROM VALUES (TIME '12:34:56.789012'), (TIME '00:00:00'), (TIME '23:59:59.1'),
      (TIME '01:02:03.000001'), (NULL) AS t(v)`,
    settings: { "spark.sql.timeType.enabled": "true" },
  },
  {
    name: "intervals of months",
    sql: each([
      "INTERVAL '1-2' YEAR TO MONTH",
      "INTERVAL '-1-2' YEAR TO MONTH",
      "INTERVAL '0-0' YEAR TO MONTH",
      "INTERVAL '178956970-7' YEAR TO MONTH",
      "INTERVAL '-178956970-8' YEAR TO MONTH",
      "CAST(NULL AS INTERVAL YEAR TO MONTH)",
    ]),
  },
  {
    name: "intervals of other units",
    sql: "SELECT INTERVAL '5' YEAR, INTERVAL '-14' MONTH, INTERVAL '3' DAY, INTERVAL '-25' HOUR, INTERVAL '61' MINUTE, INTERVAL '1.5' SECOND, INTERVAL '1 02:03' DAY TO MINUTE",
  },
  {
    name: "intervals of days",
    sql: each([
      "INTERVAL '1 02:03:04.000000' DAY TO SECOND",
      "INTERVAL '-1 02:03:04.567891' DAY TO SECOND",
      "INTERVAL '0 00:00:00' DAY TO SECOND",
      "INTERVAL '106751991 04:00:54.775807' DAY TO SECOND",
      "INTERVAL '-106751991 04:00:54.775808' DAY TO SECOND",
      "CAST(NULL AS INTERVAL DAY TO SECOND)",
    ]),
  },
  {
    name: "calendar intervals",
    sql: each([
      "make_interval(1, 2, 3, 4, 5, 6, 7.008009)",
      "make_interval(-1, -2, 0, -4, -5, -6, -7.5)",
      "make_interval(0, 0, 0, 0, 0, 0, 0)",
      "make_interval(0, 14)",
      "make_interval(0, -13, 0, 1)",
      "make_interval(0, 0, 0, 0, 100, 0, 0.000001)",
      "CAST(NULL AS INTERVAL)",
    ]),
  },
  {
    name: "arrays",
    sql: String.raw`SELECT array(1, NULL, 3), array('a', NULL, 'b"c', ''), array(array(1), NULL, array()), array(1.5D, DOUBLE('NaN')),
      array(true), array(DATE '2024-01-01', NULL), array(TIMESTAMP '2024-01-01 00:00:00'), array(1.10BD), array(X'41'),
      array(INTERVAL '1-1' YEAR TO MONTH), array(INTERVAL '1' DAY), array(make_interval(1)), array(CAST(1.5 AS FLOAT)),
      array(1L), array('tab\tin', 'line\nin')`,
    settings: zone("UTC"),
  },
  {
    name: "maps",
    sql: `SELECT map(2, 'b', 1, 'a', 10, NULL), map('z', 1, 'a', 2), map(), map(1, map('x', array(1, NULL))),
      map(named_struct('k', 1), named_struct('v', 'w')), map(DATE '2024-01-01', 1.5D), map('é', 1, 'z', 2, 'Z', 3),
      map(2.5BD, true), CAST(NULL AS MAP<INT, INT>)`,
  },
  {
    name: "structs",
    sql: `SELECT named_struct('a', 1, 'b', 'text', 'c', NULL), named_struct('x y', named_struct('é', array(1, 2))),
      named_struct('q"uote', TIMESTAMP '2024-01-01 00:00:00.5'), CAST(NULL AS STRUCT<a: INT>), array(named_struct('a', 1), NULL),
      named_struct('d', 1.0D, 'f', CAST(2 AS FLOAT), 'e', 12.50BD, 'n', 5Y)`,
    settings: zone("UTC"),
  },
  {
    name: "structs that are null now and then",
    sql: "SELECT IF(id % 3 = 0, NULL, named_struct('a', id, 'b', IF(id % 2 = 0, NULL, CAST(id AS STRING)))), IF(id % 4 = 1, NULL, array(id, NULL)) FROM range(0, 20, 1, 1)",
  },
  {
    name: "variants",
    sql: String.raw`SELECT parse_json(v) FROM VALUES ('null'), ('true'), ('1'), ('-128'), ('32768'), ('9223372036854775807'), ('1.5'),
      ('1e30'), ('12345678901234567890'), ('1.2300'), ('0.10'), ('"text"'), ('"q\\"\\\\ \\u0001\\u001f\\n \\u00e9 / \\u007f"'), ('[1,[2,null],{}]'),
      ('{"b":1,"a":{"c":[true,"x"]},"":null}'), ('[]'), (NULL), ('100'), ('1000.00'),
      ('"a longer text, because short ones of at most sixty-three bytes are kept in another way"') AS t(v)`,
  },
  {
    name: "variants of other types",
    sql: `SELECT CAST(DATE '2024-02-29' AS VARIANT), CAST(TIMESTAMP '2024-02-29 12:34:56.7' AS VARIANT),
      CAST(TIMESTAMP_NTZ '2024-02-29 12:34:56.000001' AS VARIANT), CAST(CAST(1.5 AS FLOAT) AS VARIANT), CAST(X'4142FF' AS VARIANT),
      CAST(DOUBLE('NaN') AS VARIANT), CAST(1e10D AS VARIANT), CAST(12345678901234567890.123BD AS VARIANT),
      CAST(-0.05BD AS VARIANT), to_variant_object(named_struct('a', 1, 'm', map('k', array(1L)))),
      array(parse_json('{"a":"b"}')), named_struct('v', parse_json('"s"'))`,
    settings: zone("America/New_York"),
  },
  {
    name: "a variant of many fields",
    sql: "SELECT parse_json(to_json(map_from_entries(transform(sequence(1, 300), x -> struct(concat('field ', x), repeat('v', x))))))",
  },
  {
    name: "many batches",
    sql: "SELECT id, id * 2 AS twice, concat('row ', id) AS name FROM range(0, 25, 1, 1)",
    settings: { "spark.sql.execution.arrow.maxRecordsPerBatch": "7" },
  },
  { name: "no rows", sql: "SELECT id, 'x' AS name FROM range(0)" },
  {
    name: "large offsets",
    sql: "SELECT v, array(v), CAST(v AS BINARY), map(v, v), parse_json(concat('\"', v, '\"')) FROM VALUES ('a'), (''), ('größe') AS t(v)",
    settings: { "spark.sql.execution.arrow.useLargeVarTypes": "true" },
  },
  {
    name: "compressed batches",
    sql: "SELECT id, repeat('x', 50) AS x, IF(id % 2 = 0, NULL, id) AS n FROM range(0, 100, 1, 1)",
    settings: { "spark.sql.execution.arrow.compression.codec": "zstd" },
  },
  { name: "odd column names", sql: 'SELECT 1 AS `a b`, 2 AS `a,b`, 3 AS `"q"`, 4 AS `größe`, 5 AS a, 6 AS a' },
];
