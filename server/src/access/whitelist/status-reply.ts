import { Type } from "typebox";

/** §4.1: the reply of whitelist changes. */
export const StatusReply = Type.Object({
  status: Type.Object({ status_code: Type.Integer(), message: Type.String() }),
});

export function statusReply(message: string) {
  return { status: { status_code: 200, message } };
}
