import { operation } from "../access/operation.ts";
import type { KeyRing } from "../lib/key-ring.ts";
import type { AccountServices } from "./account-services.ts";
import { AccountViewV2, accountViewV2 } from "./account-view.ts";
import { readAccount } from "./store/account.ts";

/** The view of v2 has the fields of create and edit in addition to §2.4. */
export const viewAccountV2 = operation({
  id: "account_view",
  summary: "View the current account with all its settings",
  tag: "Accounts",
  method: "GET",
  paths: { v2: "/accounts" },
  aliases: { v2: ["/account"] },
  access: { permission: { groups: ["system-user", "system-admin"], role: "account:read" } },
  reply: AccountViewV2,

  async handle({ reader }, { keys, accountSettings }: { keys: KeyRing } & AccountServices) {
    return accountViewV2(await readAccount(reader), keys, accountSettings.dataDir);
  },
});
