import { Type } from "typebox";
import { operation } from "../operation.ts";
import { parseWhitelistEntry } from "./ip-address.ts";
import { StatusReply, statusReply } from "./status-reply.ts";
import { insertWhitelistedIp } from "./store.ts";

/**
 * §4.1 Add. Entries can be added before the feature that enforces them is enabled. A duplicate is success without a
 * second row.
 */
export const addWhitelistedIp = operation({
  id: "whitelist_ip_add",
  summary: "Whitelist an IP address",
  tag: "IP whitelist",
  method: "POST",
  paths: { "v1.2": "/whitelist_ip", v2: "/accounts/whitelist_ip" },
  supersededBy: { "v1.2": "v2" },
  access: { permission: { groups: ["system-user", "system-admin"], role: "account:update" } },
  body: Type.Object({
    ip_cidr: Type.String({
      maxLength: 64,
      description: "IPv4 or IPv6 address, or CIDR block",
      examples: ["203.0.113.7"],
    }),
  }),
  example: { body: { ip_cidr: "203.0.113.0/24" } },
  reply: StatusReply,

  async handle({ body, caller, change }) {
    const entry = parseWhitelistEntry(body.ip_cidr);
    return change(async (tx, audit) => {
      await insertWhitelistedIp(tx, caller.accountId, entry);
      audit.object = `whitelisted_ip/${entry.cidr}`;
      return statusReply("IP whitelisted successfully.");
    });
  },
});
