import { operation } from "../access/operation.ts";
import type { KeyRing } from "../lib/key-ring.ts";
import type { AccountServices } from "./account-services.ts";
import { AccountView, accountView } from "./account-view.ts";
import { readAccount } from "./store/account.ts";

/** §4.12 View current. Keys are masked. */
export const viewAccount = operation({
  id: "account_view_v1",
  summary: "View the current account",
  tag: "Accounts",
  method: "GET",
  paths: { "v1.2": "/account" },
  supersededBy: { "v1.2": "/api/v2/accounts" },
  access: { permission: { groups: ["system-user", "system-admin"], role: "account:read" } },
  reply: AccountView,

  async handle({ reader }, { keys, accountSettings }: { keys: KeyRing } & AccountServices) {
    return accountView(await readAccount(reader), keys, accountSettings.dataDir);
  },
});
