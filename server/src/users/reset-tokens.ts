import { Type } from "typebox";
import type { Caller } from "../access/caller.ts";
import { operation } from "../access/operation.ts";
import { isPermitted, type PermissionRow } from "../access/permission.ts";
import { replaceTokens } from "../access/store.ts";
import { mintToken, tokenSha256 } from "../access/token.ts";
import type { Tx } from "../db/database.ts";
import { OneOf } from "../http/schema.ts";
import { invalid } from "../lib/fault.ts";
import { shownValue } from "../lib/shown-value.ts";
import { parseReferences, ReferenceList, type References } from "../access/reference.ts";
import { mayTakeOver } from "./may-act-on.ts";
import { resolveGroups } from "./resolve-groups.ts";
import { findAndLockTargets, type TargetRow } from "./store/members.ts";

const OTHERS: PermissionRow = { groups: ["system-admin"], role: "svc_user:update" };
const MAX_OVERLAP_MINUTES = 7 * 24 * 60;
const IDS_IN_AUDIT = 50;

/** One token per user and account; the reply shows a new token once. Without arguments it resets the caller's own. */
export const resetTokens = operation({
  id: "token_reset",
  summary: "Reset API tokens",
  description:
    "All users may reset their own token; resetting others needs the group system-admin or a role that allows svc_user:update.",
  tag: "Users",
  method: "PUT",
  paths: { "v1.2": "/accounts/token" },
  access: { permission: "member" },
  body: Type.Object({
    emails: Type.Optional(
      Type.String({
        maxLength: 65_536,
        description: "Comma-separated e-mail addresses",
        examples: ["ada@example.com,bob@example.com"],
      }),
    ),
    groups: Type.Optional(ReferenceList),
    overlap_minutes: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: MAX_OVERLAP_MINUTES,
        default: 0,
        description: "How long the old token stays valid",
        examples: [60],
      }),
    ),
  }),
  example: { body: { overlap_minutes: 60 } },
  reply: Type.Object({
    status: OneOf(["success"]),
    tokens: Type.Array(Type.Object({ email: Type.String(), authentication_token: Type.String() })),
  }),

  async handle({ body, caller, change, deny }) {
    const { emails, groups } = namedTargets(body);
    const isOwn = emails.length + groups.ids.length + groups.names.length === 0;
    if (!isOwn && !isPermitted(OTHERS, caller)) {
      throw deny(
        "Resetting tokens of other users needs membership in system-admin, or a role that allows svc_user:update.",
      );
    }
    return change(async (tx, audit) => {
      const targets = await findTargets(tx, caller, isOwn ? [caller.email] : emails, groups);
      if (!targets.every((target) => mayTakeOver(caller, target))) {
        throw deny(
          "Only a system-admin may reset a system-admin's token, and only an operator an operator's. The token of a user " +
            "with privileges over groups, roles or users may be reset only by callers who have the same privileges.",
        );
      }
      const minted = targets.map(({ id, email }) => ({ id, email, token: mintToken() }));
      replaceTokens(
        tx,
        minted.map(({ id, token }) => ({ membershipId: id, sha256: tokenSha256(token) })),
        body.overlap_minutes ?? 0,
      );
      audit.object = auditObject(minted.map(({ id }) => id));
      return {
        status: "success" as const,
        tokens: minted.map(({ email, token }) => ({ email, authentication_token: token })),
      };
    });
  },
});

function namedTargets(body: { emails?: string; groups?: string }): { emails: string[]; groups: References } {
  const { ids, names: emails } = parseReferences(body.emails ?? "");
  if (ids[0] !== undefined) throw unknownUser(ids[0]);
  return { emails, groups: parseReferences(body.groups ?? "") };
}

async function findTargets(
  tx: Tx,
  { accountId }: Caller,
  emails: readonly string[],
  groupReferences: References,
): Promise<TargetRow[]> {
  const groups = await resolveGroups(tx, accountId, groupReferences);
  const targets = await findAndLockTargets(
    tx,
    emails,
    groups.map(({ id }) => id),
  );
  const known = new Set(targets.map(({ email }) => email.toLowerCase()));
  const unknown = emails.find((email) => !known.has(email.toLowerCase()));
  if (unknown !== undefined) throw unknownUser(unknown);
  return targets;
}

function unknownUser(reference: string | number) {
  return invalid("emails", `must contain only users of the account: there is no ${shownValue(reference)}`);
}

function auditObject(ids: readonly number[]): string {
  const more = ids.length - IDS_IN_AUDIT;
  return `membership/${ids.slice(0, IDS_IN_AUDIT).join(",")}${more > 0 ? ` and ${more} more` : ""}`;
}
