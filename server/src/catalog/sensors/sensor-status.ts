import { OneOf } from "../../http/schema.ts";
import { Type } from "typebox";
import { Fault } from "../../lib/fault.ts";

export const CREATE_SENSOR = { groups: ["system-user", "system-admin"], role: "sensor:create" } as const;

/** §4.9: text, not a boolean. */
export const SensorStatus = Type.Object({ status: OneOf(["true", "false"]) });

/** Whoever waits so long sends nothing on the connection: what stands between may cut it earlier. */
export const WaitSeconds = Type.Optional(
  Type.Integer({ minimum: 0, maximum: 300, description: "Holds the answer until it is true, but no longer" }),
);

export function sensorStatus(answer: boolean | Fault): { status: "true" | "false" } {
  if (answer instanceof Fault) throw answer;
  return { status: answer ? "true" : "false" };
}
