import { Type, type Static } from "typebox";
import { Fault } from "../../lib/fault.ts";

export const CREATE_SENSOR = { groups: ["system-user", "system-admin"], role: "sensor:create" } as const;

/** §4.9: a string. Clients that take any text for true need a boolean; HEADGATE_SENSOR_STATUS chooses. */
export type SensorStatusForm = "text" | "boolean";

export const SensorStatus = Type.Object({
  status: Type.Unsafe<"true" | "false" | boolean>({
    type: ["string", "boolean"],
    enum: ["true", "false", true, false],
    description: '"true" or "false"; a boolean where HEADGATE_SENSOR_STATUS is boolean',
  }),
});

/** Nothing is sent on the connection during the wait, so a proxy may close it earlier. */
export const WaitSeconds = Type.Optional(
  Type.Integer({
    minimum: 0,
    maximum: 300,
    description:
      "How long to wait for the status to become true. Returns at once if too many requests are already waiting",
  }),
);

/** Returns the answer as a reply, or throws why it cannot be given. */
export type SensorReply = (answer: boolean | Fault) => Static<typeof SensorStatus>;

export function sensorReply(form: SensorStatusForm): SensorReply {
  return (answer) => {
    if (answer instanceof Fault) throw answer;
    if (form === "boolean") return { status: answer };
    return { status: answer ? "true" : "false" };
  };
}
