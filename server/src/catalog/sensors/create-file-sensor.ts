import { Type } from "typebox";
import { operation } from "../../access/operation.ts";
import type { AccountStorage } from "../../accounts/contract.ts";
import { fileQuestion } from "./file-question.ts";
import { checkFiles } from "./check-files.ts";
import type { WithSensors } from "./open-sensors.ts";
import { CREATE_SENSOR, SensorStatus, WaitSeconds } from "./sensor-status.ts";

export const createFileSensor = operation({
  id: "file_sensor_create",
  summary: "Check whether files exist",
  description: "True if all of them exist. A folder exists if it is not empty.",
  tag: "Sensors",
  method: "POST",
  paths: { "v1.2": "/sensors/file_sensor" },
  aliases: { "v1.2": ["/file_sensor"] },
  access: { permission: CREATE_SENSOR },
  body: Type.Object({
    // Any type is accepted here: the specification gives the message for values that are no array.
    files: Type.Optional(
      Type.Unsafe<unknown>({
        description:
          "Array of at most 1,000: storage:/…, s3://…, hdfs://…, or file:/… below the account's storage folder",
        examples: [["s3://bucket/folder/_SUCCESS"]],
      }),
    ),
    wait_seconds: WaitSeconds,
  }),
  example: { body: { files: ["s3://example-bucket/folder/_SUCCESS"] }, reply: { status: "true" } },
  reply: SensorStatus,

  async handle(
    { body, caller, takeSlot, endingSignal },
    { accountStorage, sensors }: WithSensors & { accountStorage: AccountStorage },
  ) {
    const question = fileQuestion(body.files);
    const { wait_seconds: waitSeconds = 0 } = body;
    if (waitSeconds === 0 || !takeSlot("wait")) {
      const [answer = false] = await checkFiles(accountStorage, caller.accountId, [question]);
      return sensors.reply(answer);
    }
    return sensors.reply(await sensors.files.wait(caller.accountId, question, waitSeconds * 1000, endingSignal()));
  },
});
