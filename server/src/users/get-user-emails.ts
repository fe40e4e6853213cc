import { Type } from "typebox";
import { operation } from "../access/operation.ts";
import { listUserEmails } from "./store/members.ts";

/** §4.12 List user e-mails: the addresses of the users of get_users. */
export const getUserEmails = operation({
  id: "account_user_emails",
  summary: "List the e-mail addresses of the account's users",
  tag: "Users",
  method: "GET",
  paths: { "v1.2": "/accounts/get_user_emails" },
  access: { permission: { groups: ["system-user", "system-admin"], role: "account:read" } },
  reply: Type.Object({ emails: Type.Array(Type.String()) }),

  async handle({ reader }) {
    return { emails: (await listUserEmails(reader)).map(({ email }) => email) };
  },
});
