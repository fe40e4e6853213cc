import { Type } from "typebox";
import { notFound, invalid } from "../../lib/fault.ts";
import { operation } from "../operation.ts";
import { StatusReply, statusReply } from "./status-reply.ts";
import { findWhitelistedIps, deleteWhitelistedIps, isListedIfEnforced } from "./store.ts";

/** §4.1 Delete. Several ids are deleted all or none; a deletion that would lock out the caller is refused. */
export const removeWhitelistedIps = operation({
  id: "whitelist_ip_delete",
  summary: "Remove whitelisted IP addresses",
  tag: "IP whitelist",
  method: "DELETE",
  paths: { "v1.2": "/whitelist_ip/:ids", v2: "/accounts/whitelist_ip/:ids" },
  supersededBy: { "v1.2": "v2" },
  access: { permission: { groups: ["system-user", "system-admin"], role: "account:update" } },
  params: Type.Object({ ids: Type.String({ description: "One id or a comma-separated list", examples: ["7,8"] }) }),
  reply: StatusReply,

  async find({ params, reader }) {
    const ids = parseIdList(params.ids);
    refuseMissing(ids, await findWhitelistedIps(reader, ids));
    return ids;
  },

  async handle({ found: ids, caller, change }) {
    return change(async (tx, audit) => {
      refuseMissing(ids, await deleteWhitelistedIps(tx, ids));
      if ((await isListedIfEnforced(tx, caller.address)) === false) {
        throw invalid(
          "id",
          `must leave an entry that covers your own address ${caller.address}, or you would be locked out`,
        );
      }
      audit.object = `whitelisted_ip/${ids.join(",")}`;
      return statusReply("IP removed successfully.");
    });
  },
});

function refuseMissing(ids: readonly number[], found: readonly number[]): void {
  const missing = ids.find((id) => !found.includes(id));
  if (missing !== undefined) throw notFound("Whitelist entry", missing);
}

/** Parses `<id>` or a comma-separated list of ids in a path. A text that cannot be an id is 404. */
function parseIdList(text: string): number[] {
  const ids = text.split(",").map((part) => {
    const id = /^\s*\d{1,16}\s*$/.test(part) ? Number(part) : 0;
    if (id < 1 || !Number.isSafeInteger(id)) throw notFound("Whitelist entry", part.trim());
    return id;
  });
  return [...new Set(ids)];
}
