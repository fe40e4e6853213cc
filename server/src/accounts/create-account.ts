import { Type } from "typebox";
import { operation } from "../access/operation.ts";
import { insertWhitelistedIp } from "../access/whitelist/store.ts";
import { Id } from "../http/schema.ts";
import { invalid } from "../lib/fault.ts";
import type { Feature } from "../lib/features.ts";
import type { KeyRing } from "../lib/key-ring.ts";
import { checkName } from "../lib/name-rule.ts";
import { AccountFields, AccountName } from "./account-fields.ts";
import type { AccountServices } from "./account-services.ts";
import { newSettings } from "./account-settings.ts";
import { givenCredentials, sealCredentials, type GivenCredentials } from "./credentials.ts";
import { createAccountWithAdmin } from "./create-account-with-admin.ts";
import { lockAndCountCreated, planOf, sendCredentials } from "./store/new-account.ts";

/** §4.12 Create. The caller becomes the new account's first system-admin, with a token of its own for it. */
export const createAccount = operation({
  id: "account_create",
  summary: "Create an account",
  tag: "Accounts",
  method: "POST",
  paths: { "v1.2": "/account", v2: "/accounts" },
  supersededBy: { "v1.2": "v2" },
  access: { permission: { groups: ["system-user", "system-admin"], role: "account:create" } },
  body: Type.Object({
    account: Type.Object({
      name: AccountName,
      ...AccountFields,
      sub_account_creation: Type.Optional(
        Type.Boolean({ default: false, description: "True: the account gets the plan of the caller's account" }),
      ),
    }),
  }),
  example: { body: { account: { name: "Analytics" } } },
  reply: Type.Object({
    name: Type.String(),
    state: Type.String({ examples: ["success_create"] }),
    groups: Type.Array(Type.String()),
    authentication_token: Type.String({ description: "The caller's token for the new account; shown once" }),
    account_id: Id,
    is_aws_keys_enabled: Type.Boolean(),
    status: Type.String({ examples: ["success"] }),
  }),

  async handle({ body: { account }, caller, change }, services: { keys: KeyRing } & AccountServices) {
    const { allowedNetworks, defaultFeatures, accountsPerUser } = services.accountSettings;
    if (account.role_arn !== undefined && account.role_arn !== "") {
      throw invalid("role_arn", "cannot be set through the API: an operator can set it after the account was created");
    }
    const name = checkName("name", account.name);
    const settings = newSettings(account, {
      requireFeature: (feature, field) => requireFeatureOfNewAccounts(defaultFeatures, feature, field),
      allowedNetworks,
    });
    const credentials = givenCredentials(account);
    const isSubAccount = account.sub_account_creation ?? false;

    return change(async (tx, audit) => {
      if (!caller.isOperator && (await lockAndCountCreated(tx, caller.userId)) >= accountsPerUser) {
        throw invalid("account", `cannot be created: a user can create at most ${accountsPerUser} accounts`);
      }
      const { accountId, groups, token } = await createAccountWithAdmin(tx, {
        account: {
          name,
          settings,
          parentId: isSubAccount ? caller.accountId : null,
          plan: isSubAccount ? await planOf(tx, caller.accountId) : "free",
        },
        admin: { email: caller.email, name: caller.email, isOperator: false },
        features: defaultFeatures,
        addDefaults: services.addAccountDefaults,
      });
      if (credentials.size > 0) {
        sendCredentials(tx, accountId, sealCredentials(credentials, services.keys, { id: accountId }));
      }
      if (defaultFeatures.includes("ip_whitelisting")) {
        // It would lock out its creator otherwise.
        await insertWhitelistedIp(tx, accountId, { cidr: caller.address, givenText: caller.address });
      }
      audit.object = `account/${accountId}`;
      return {
        name,
        state: "success_create",
        groups,
        authentication_token: token,
        account_id: accountId,
        is_aws_keys_enabled: hasKeyPair(credentials),
        status: "success",
      };
    }, "system");
  },
});

/** A new account gets the features of the deployment, so these apply and not those of the caller's account. */
function requireFeatureOfNewAccounts(defaultFeatures: readonly Feature[], feature: Feature, field: string): void {
  if (defaultFeatures.includes(feature)) return;
  const cure =
    "Create the account without this field, have an operator enable the feature (npm run admin -- feature-set), and " +
    "then edit the account; HEADGATE_FEATURES enables it in every new account.";
  throw invalid(field, `needs the feature ${feature}, which new accounts do not have. ${cure}`);
}

function hasKeyPair(given: GivenCredentials): boolean {
  return (
    (given.has("storageAccessKey") && given.has("storageSecretKey")) ||
    (given.has("computeAccessKey") && given.has("computeSecretKey"))
  );
}
