import { Type } from "typebox";
import { recordAudit } from "../access/audit/store.ts";
import type { Limits } from "../access/limits.ts";
import { insertMember } from "../access/members/store.ts";
import { publicOperation, type WithDatabase } from "../access/operation.ts";
import { mintToken, tokenSha256 } from "../access/token.ts";
import { Id, OneOf } from "../http/schema.ts";
import { invalid, type Fault } from "../lib/fault.ts";
import { checkName } from "../lib/name-rule.ts";
import { codeSha256, isWellFormedCode, MAX_CODE_LENGTH } from "./invitation-code.ts";
import { takeInvitation } from "./store/invitations.ts";

/**
 * Makes the holder of the code a pending user of the account. Their token is refused until they are enabled. A user who
 * exists in the installation keeps their name, because a code does not authorise changing it.
 */
export const acceptInvitation = publicOperation({
  id: "invitation_accept",
  summary: "Accept an invitation",
  tag: "Users",
  method: "POST",
  paths: { v2: "/invitations/accept" },
  access: { permission: "public" },
  body: Type.Object({
    code: Type.String({ maxLength: MAX_CODE_LENGTH, description: "The invitation_code of users/invite_new" }),
    name: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 255,
        description: "Display name, with at least one visible character; the e-mail address by default",
        examples: ["Ada Lovelace"],
      }),
    ),
  }),
  example: { body: { code: "the-code-of-the-invitation", name: "Ada Lovelace" } },
  reply: Type.Object({
    status: OneOf(["success"]),
    id: Id,
    email: Type.String(),
    authentication_token: Type.String({ description: "Shown once; refused until the user is enabled" }),
  }),

  async handle({ body, address, requestId }, { db, limits }: WithDatabase & { limits: Limits }) {
    // The same text for unknown, used and expired codes. Many attempts are limited like invalid tokens.
    const unusableCode = (): Fault => {
      limits.takeBadToken(address);
      return invalid("code", "must be the code of an open invitation: ask for a new invitation");
    };
    if (!isWellFormedCode(body.code)) throw unusableCode();
    if (body.name !== undefined) checkName("name", body.name);
    return db.asSystem(async (tx) => {
      const invitation = await takeInvitation(tx, codeSha256(body.code));
      if (invitation === undefined) throw unusableCode();
      const { account_id: accountId, email, group_ids: groupIds } = invitation;
      const token = mintToken();
      const member = await insertMember(tx, {
        accountId,
        email,
        groupIds,
        name: body.name ?? email,
        state: "pending",
        userType: "regular",
        tokenSha256: tokenSha256(token),
      });
      if (member === undefined) throw unusableCode();
      const actor = { accountId, userId: member.user_id, email: member.email, address, requestId };
      recordAudit(tx, actor, "invitation_accept", `membership/${member.id}`);
      return { status: "success" as const, id: member.id, email: member.email, authentication_token: token };
    });
  },
});
