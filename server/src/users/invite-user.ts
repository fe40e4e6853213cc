import { Type } from "typebox";
import type { Caller } from "../access/caller.ts";
import { mayGrant } from "../access/grant-rules.ts";
import { insertMember } from "../access/members/store.ts";
import { USER_TYPES } from "../access/members/user-entry.ts";
import { operation } from "../access/operation.ts";
import { parseReferences, ReferenceList } from "../access/reference.ts";
import { parsedPolicy } from "../access/permission.ts";
import { mintToken, tokenSha256 } from "../access/token.ts";
import type { Tx } from "../db/database.ts";
import { notFound, invalid, Fault } from "../lib/fault.ts";
import { Id, OneOf } from "../http/schema.ts";
import { codeSha256, mintInvitationCode } from "./invitation-code.ts";
import { resolveGroups } from "./resolve-groups.ts";
import { findMemberState, insertInvitation, isAccountNamed } from "./store/invitations.ts";
import type { GroupRow } from "./store/groups.ts";
import { MAX_EMAIL_LENGTH } from "./user-status.ts";

const DEFAULT_GROUP = "system-user";
/** Without slashes, because an address is one part of a location: `Users/<e-mail>`. */
const EMAIL = /^[^\s,/@\p{Cc}]+@[^\s,/@\p{Cc}]+$/u;

/**
 * Invites a person, who becomes a user by accepting, or creates a service user. The code or token is only in this
 * reply. `id` is that of the invitation for a person, and that of get_users for a service user.
 */
export const inviteUser = operation({
  id: "user_invite",
  summary: "Invite a user to the account",
  tag: "Users",
  method: "POST",
  paths: { "v1.2": "/users/invite_new" },
  access: { permission: { groups: ["system-admin"], role: "svc_user:create" } },
  body: Type.Object({
    invitee_email: Type.String({
      maxLength: MAX_EMAIL_LENGTH,
      description: "The e-mail address of the new user",
      examples: ["ada@example.com"],
    }),
    account: Type.Optional(Type.String({ maxLength: 255, description: "The caller's own account, by id or name" })),
    groups: Type.Optional(ReferenceList),
    user_type: Type.Optional(OneOf(USER_TYPES, { default: "regular" })),
  }),
  example: { body: { invitee_email: "ada@example.com", groups: "system-user" } },
  reply: Type.Object({
    status: OneOf(["success"]),
    id: Id,
    email: Type.String(),
    invitation_code: Type.Optional(Type.String({ description: "For a regular user: shown once, valid for 7 days" })),
    authentication_token: Type.Optional(Type.String({ description: "For a service user: shown once" })),
  }),

  async handle({ body, caller, change, deny }) {
    const { invitee_email: email, user_type: userType = "regular" } = body;
    if (!EMAIL.test(email)) {
      throw invalid("invitee_email", "must be an e-mail address without slashes, such as ada@example.com");
    }
    const { accountId } = caller;
    const references = parseReferences((body.groups ?? "").trim() || DEFAULT_GROUP);
    return change(
      async (tx, audit) => {
        if (body.account !== undefined && !(await isAccountNamed(tx, accountId, body.account)))
          throw notFound("Account", body.account);
        const groups = await resolveGroups(tx, accountId, references);
        const beyond = groups.find((group) => !mayInviteInto(caller, group));
        if (beyond !== undefined)
          throw deny(`You may not invite users into ${beyond.name}: the group has privileges that you do not have.`);
        // Every active member is in `everyone` without a row.
        const groupIds = groups.filter(({ name }) => name !== "everyone").map(({ id }) => id);
        if ((await findMemberState(tx, accountId, email)) !== undefined) throw alreadyMember(email);
        const invite = userType === "service" ? addServiceUser : addInvitation;
        const { object, ...invited } = await invite(tx, { accountId, email, groupIds });
        audit.object = object;
        return { status: "success" as const, ...invited };
      },
      // Users belong to no account, so creating one needs the system scope.
      userType === "service" ? "system" : "account",
    );
  },
});

/** Callers who may invite can always invite ordinary users; otherwise they cannot grant what they lack themselves. */
function mayInviteInto(caller: Caller, { name, policies }: GroupRow): boolean {
  if (name === DEFAULT_GROUP) return true;
  if (name === "system-admin") return caller.groups.has("system-admin");
  return mayGrant(caller, (policies ?? []).flatMap(parsedPolicy));
}

interface Invitee {
  accountId: number;
  email: string;
  groupIds: readonly number[];
}

async function addInvitation(tx: Tx, invitee: Invitee) {
  const code = mintInvitationCode();
  const id = await insertInvitation(tx, { ...invitee, codeSha256: codeSha256(code) });
  return { object: `invitation/${id}`, id, email: invitee.email, invitation_code: code };
}

async function addServiceUser(tx: Tx, invitee: Invitee) {
  const token = mintToken();
  const member = await insertMember(tx, {
    ...invitee,
    name: invitee.email,
    state: "active",
    userType: "service",
    tokenSha256: tokenSha256(token),
  });
  if (member === undefined) throw alreadyMember(invitee.email);
  return { object: `membership/${member.id}`, id: member.id, email: member.email, authentication_token: token };
}

function alreadyMember(email: string): Fault {
  return new Fault("conflict", `${email} is already a user of this account, or is waiting for approval.`);
}
