import { Type } from "typebox";
import { Id } from "../../http/schema.ts";

/** Of the two operations that add and remove the users of a comma list. */
export const GroupUsersParams = Type.Object({
  group_id: Id,
  users: Type.String({
    minLength: 1,
    maxLength: 4096,
    description: "Ids of get_users entries or e-mail addresses, comma-separated",
    examples: ["7,ann@example.com"],
  }),
});
