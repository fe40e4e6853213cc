import { Type } from "typebox";
import { Id, OneOf } from "../http/schema.ts";

export const MAX_EMAIL_LENGTH = 254;

/** The input and reply of enabling and disabling. */
export const UserStatusBody = Type.Object({
  svc_user_id: Type.String({
    minLength: 1,
    maxLength: MAX_EMAIL_LENGTH,
    description: "The id of a get_users or get_pending_users entry, or the user's e-mail address",
    examples: ["7"],
  }),
});

export const UserStatusReply = Type.Object({ status: OneOf(["success"]), id: Id, email: Type.String() });
