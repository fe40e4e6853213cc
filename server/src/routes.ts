import { addWhitelistedIp } from "./access/whitelist/add-whitelisted-ip.ts";
import { listWhitelist } from "./access/whitelist/list-whitelisted-ips.ts";
import { removeWhitelistedIps } from "./access/whitelist/delete-whitelisted-ips.ts";

/** The whole list of operations: what is here is routed, checked, documented and in the permission matrix. */
export const endpoints = [
  // access: IP whitelist (§4.1)
  addWhitelistedIp,
  listWhitelist,
  removeWhitelistedIps,
] as const;
