import { Type } from "typebox";
import { Id, Timestamp } from "../../http/schema.ts";
import { isoSeconds } from "../../lib/clock.ts";
import { operation } from "../operation.ts";
import { listWhitelistedIps } from "./store.ts";

/** §4.1 List. */
export const listWhitelist = operation({
  id: "whitelist_ip_list",
  summary: "List whitelisted IP addresses",
  tag: "IP whitelist",
  method: "GET",
  paths: { "v1.2": "/whitelist_ip", v2: "/accounts/whitelist_ip" },
  supersededBy: { "v1.2": "v2" },
  access: { permission: { groups: ["system-user", "system-admin"], role: "account:update" } },
  reply: Type.Object({
    account_whitelisted_ips: Type.Array(
      Type.Object({ id: Id, account_id: Id, ip_cidr: Type.String(), created_at: Timestamp, updated_at: Timestamp }),
    ),
  }),

  async handle({ reader }) {
    const rows = await listWhitelistedIps(reader);
    return {
      account_whitelisted_ips: rows.map(({ id, account_id, given_text, created_at, updated_at }) => ({
        id,
        account_id,
        ip_cidr: given_text,
        created_at: isoSeconds(created_at),
        updated_at: isoSeconds(updated_at),
      })),
    };
  },
});
