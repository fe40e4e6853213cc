import { Type } from "typebox";
import { operation } from "../../access/operation.ts";
import { Name } from "../table-params.ts";
import type { WithAccountTables } from "../tables/account-tables.ts";
import { partitionSensorQuestion } from "./partition-sensor-question.ts";
import { checkPartitions, type WithSensors } from "./open-sensors.ts";
import { CREATE_SENSOR, SensorStatus, WaitSeconds } from "./sensor-status.ts";

/** §4.9. */
export const createPartitionSensor = operation({
  id: "partition_sensor_create",
  summary: "Check whether partitions of a table exist",
  description:
    "True if there is a partition for every combination of the values. The columns may be any of the table's " +
    "partition columns, in any order.",
  tag: "Sensors",
  method: "POST",
  paths: { "v1.2": "/partition_sensor" },
  aliases: { "v1.2": ["/sensors/partition_sensor"] },
  access: { permission: CREATE_SENSOR },
  body: Type.Object({
    schema: Name("Schema of the table, case-insensitive"),
    table: Name("Table, case-insensitive"),
    columns: Type.Array(
      Type.Object({
        column: Name("A partition column, case-insensitive"),
        values: Type.Unsafe<unknown>({
          type: ["array", "string"],
          items: { type: ["string", "number", "boolean", "null"] },
          maxItems: 1000,
          maxLength: 65_536,
          description:
            "An array of values, or a string such as `[a, b]`; null or an empty string: the partition without a value",
          examples: [["2026-01-31"], "[2026-01-30, 2026-01-31]"],
        }),
      }),
      { minItems: 1, maxItems: 64 },
    ),
    wait_seconds: WaitSeconds,
  }),
  example: {
    body: { schema: "default", table: "orders", columns: [{ column: "dt", values: ["2026-11-15"] }] },
    reply: { status: "true" },
  },
  reply: SensorStatus,

  async handle({ body, caller, takeSlot, endingSignal }, { accountTables, sensors }: WithAccountTables & WithSensors) {
    const question = partitionSensorQuestion(body.schema, body.table, body.columns);
    const { wait_seconds: waitSeconds = 0 } = body;
    if (waitSeconds === 0 || !takeSlot("wait")) {
      const [answer = false] = await checkPartitions(accountTables, caller.accountId, [question]);
      return sensors.reply(answer);
    }
    return sensors.reply(await sensors.partitions.wait(caller.accountId, question, waitSeconds * 1000, endingSignal()));
  },
});
