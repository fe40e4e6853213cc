import { OneOf } from "../../http/schema.ts";
import { Type } from "typebox";
import { Fault } from "../../lib/fault.ts";

export const CREATE_SENSOR = { groups: ["system-user", "system-admin"], role: "sensor:create" } as const;

/** §4.9: a string, not a boolean. */
export const SensorStatus = Type.Object({ status: OneOf(["true", "false"]) });

/** Nothing is sent on the connection during the wait, so a proxy may close it earlier. */
export const WaitSeconds = Type.Optional(
  Type.Integer({ minimum: 0, maximum: 300, description: "How long to wait for the status to become true" }),
);

export function sensorStatus(answer: boolean | Fault): { status: "true" | "false" } {
  if (answer instanceof Fault) throw answer;
  return { status: answer ? "true" : "false" };
}
