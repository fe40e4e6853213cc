import { Type, type Static } from "typebox";
import { operation } from "../access/operation.ts";
import { requireFeature } from "../access/caller.ts";
import { invalid } from "../lib/fault.ts";
import type { KeyRing } from "../lib/key-ring.ts";
import { checkName } from "../lib/name-rule.ts";
import { AccountFields, AccountName, EditOnlyFields } from "./account-fields.ts";
import type { AccountServices } from "./account-services.ts";
import { editedSettings, type SettingRules } from "./account-settings.ts";
import { AccountViewV2, accountViewV2 } from "./account-view.ts";
import { givenCredentials, sealCredentials, type Credential } from "./credentials.ts";
import { lockAccount, updateAccount, type AccountRow } from "./store/account.ts";

const EditFields = Type.Object({ name: Type.Optional(AccountName), ...AccountFields, ...EditOnlyFields });

/**
 * Edits the current account. Absent fields are unchanged, an empty text removes an address, and sending back the view
 * changes nothing. The fields are in `account`, as in create, or in the body itself, as in the view.
 */
export const editAccount = operation({
  id: "account_edit",
  summary: "Edit the current account",
  tag: "Accounts",
  method: "PUT",
  paths: { v2: "/accounts" },
  aliases: { v2: ["/account"] },
  access: { permission: { groups: ["system-user", "system-admin"], role: "account:update" } },
  body: Type.Object({ account: Type.Optional(EditFields), ...EditFields.properties }),
  example: { body: { idle_cluster_timeout: 1 } },
  reply: AccountViewV2,

  async handle({ body, caller, change }, { keys, accountSettings }: { keys: KeyRing } & AccountServices) {
    const input = body.account ?? body;
    const rules: SettingRules = {
      requireFeature: (feature, field) => requireFeature(caller, feature, field),
      allowedNetworks: accountSettings.allowedNetworks,
    };
    return change(async (tx, audit) => {
      const current = await lockAccount(tx);
      const row = await updateAccount(tx, edited(current, input, keys, rules));
      audit.object = `account/${row.id}`;
      return accountViewV2(row, keys, accountSettings.dataDir);
    });
  },
});

function edited(current: AccountRow, input: Static<typeof EditFields>, keys: KeyRing, rules: SettingRules): AccountRow {
  if (input.role_arn !== undefined && input.role_arn !== (current.roleArn ?? "")) {
    throw invalid("role_arn", "cannot be changed through the API: an operator can change it");
  }
  const changed = givenCredentials(input);
  const stays = (...names: Credential[]): boolean => !names.some((name) => changed.has(name));
  return {
    ...current,
    ...editedSettings(input, current, rules),
    ...sealCredentials(changed, keys, current),
    name: input.name === undefined || input.name === current.name ? current.name : checkName("name", input.name),
    // Keys count as validated once a command has used them.
    storageValidated: current.storageValidated && stays("storageAccessKey", "storageSecretKey"),
    computeValidated: current.computeValidated && stays("computeAccessKey", "computeSecretKey"),
  };
}
