import { readFileSync } from "node:fs";
import { expect, inject, test } from "vitest";
import { captureValues, type CapturedValues } from "../../../generate/spark-values/capture.ts";
import { valueCases, type ValueCase } from "../../../generate/spark-values/cases.ts";
import { received } from "../../../test/support/arrow-streams.ts";
import { findSparkHome, SET_UP_MS } from "../../../test/support/connect-server.ts";
import { sparkIsMissing } from "../../../test/support/spark-missing.ts";
import { useRendered } from "../../../test/support/rendered-result.ts";

const ROWS = "range(0, 20000, 1, 1)";

/** More cases, with too many values for a committed fixture. */
const more: readonly ValueCase[] = [
  {
    name: "many numbers",
    sql: `SELECT rand(11), (rand(12) - 0.5D) * pow(10D, id % 37 - 18), CAST(rand(13) AS FLOAT),
      CAST((rand(14) - 0.5D) * pow(10D, id % 37 - 18) AS FLOAT), CAST(rand(15) * 1e18 AS BIGINT) * IF(id % 2 = 0, 1, -1),
      CAST((rand(16) - 0.5D) * 1e16 AS DECIMAL(20, 3)), CAST(rand(17) * 1e30 AS DECIMAL(38, 6)) FROM ${ROWS}`,
  },
  ...["America/New_York", "Europe/London", "Asia/Tokyo", "Australia/Sydney", "America/Sao_Paulo"].map((zone) => ({
    name: `many times in ${zone}`,
    sql: `SELECT timestamp_micros(CAST(rand(21) * 6.5e15 - 4.8e15 AS BIGINT)), date_add(DATE '1970-01-01', CAST(rand(22) * 4e6 - 2e6 AS INT)),
      make_dt_interval(0, 0, 0, (rand(23) - 0.5D) * 1e9), make_ym_interval(0, CAST((rand(24) - 0.5D) * 1e6 AS INT)),
      make_interval(0, CAST((rand(25) - 0.5D) * 100 AS INT), 0, CAST((rand(26) - 0.5D) * 100 AS INT), 0, 0, (rand(27) - 0.5D) * 1e6)
      FROM ${ROWS}`,
    settings: { "spark.sql.session.timeZone": zone },
  })),
  {
    name: "many nested values",
    sql: `SELECT transform(sequence(0, id % 7), x -> IF(x % 3 = 1, NULL, named_struct('a', x * id, 'b', repeat('é', INT(x))))),
      map_from_arrays(transform(sequence(0, id % 5), x -> concat('k', x * id % 11, '-', x)), transform(sequence(0, id % 5), x -> x * 0.5D)),
      to_variant_object(named_struct('n', id, 's', CAST(id AS STRING), 'l', array(id, NULL))) FROM ${ROWS}`,
  },
];

// Skipped if this machine has no Java or Python; sparkIsMissing prints the reason.
test.skipIf(sparkIsMissing)(
  "values from the installed Spark are rendered as its command line prints them",
  async () => {
    const file = new URL("./fixtures/spark-values.json", import.meta.url);
    const kept = JSON.parse(readFileSync(file, "utf8")) as CapturedValues[];
    const home = await findSparkHome(inject("postgres").cacheDir);
    const captured = await captureValues(home, [...valueCases, ...more]);
    for (const { name, columns, batches, text } of captured) {
      const given = received(batches.map(({ base64, rows }) => ({ data: Buffer.from(base64, "base64"), rows })));
      const shown = await rendered(given, columns, { format: "text" });
      expect(shown.replaceAll("\r\n", "\n"), name).toBe(text);
    }
    const known = captured.slice(0, kept.length).map(({ name, columns, text }) => ({ name, columns, text }));
    expect(known).toEqual(kept.map(({ name, columns, text }) => ({ name, columns, text })));
  },
  SET_UP_MS,
);

const { rendered } = useRendered();
