import { Type } from "typebox";
import { operation } from "../access/operation.ts";
import { Nullable } from "../http/schema.ts";
import type { KeyRing } from "../lib/key-ring.ts";
import type { AccountServices } from "./account-services.ts";
import { openCredential } from "./credentials.ts";
import { readAccount, type AccountRow } from "./store/account.ts";

/**
 * The only operation that shows storage keys: callers who may submit commands could read them with a command anyway.
 * Every read is audited, so this read is a change.
 */
export const getCredentials = operation({
  id: "account_credentials",
  summary: "Get the storage credentials of the account",
  tag: "Accounts",
  method: "GET",
  paths: { "v1.2": "/accounts/get_creds" },
  access: { permission: { groups: ["system-user", "system-admin"], role: "command:create" } },
  reply: Type.Object({
    storage_access_key: Nullable(Type.String()),
    storage_secret_key: Nullable(Type.String()),
    session_token: Nullable(Type.String()),
    region_endpoint: Nullable(Type.String({ description: "Host of the object storage, with the port if it has one" })),
  }),

  async handle({ change }, { keys, accountSettings }: { keys: KeyRing } & AccountServices) {
    return change(async (tx, audit) => {
      const account = await readAccount(tx);
      audit.object = `account/${account.id}`;
      return {
        storage_access_key: openCredential(keys, account, "storageAccessKey")?.reveal() ?? null,
        storage_secret_key: openCredential(keys, account, "storageSecretKey")?.reveal() ?? null,
        session_token: null,
        region_endpoint: regionEndpoint(account, accountSettings.s3Endpoint),
      };
    });
  },
});

/** The host in the form that clients of the original API pass to their S3 library. */
function regionEndpoint({ storageEndpoint, awsRegion }: AccountRow, deploymentEndpoint: string | null): string {
  const own = storageEndpoint ?? deploymentEndpoint;
  if (own !== null) return new URL(own).host;
  return awsRegion === null ? "s3.amazonaws.com" : `s3.${awsRegion}.amazonaws.com`;
}
