import type { Tx } from "../db/database.ts";
import { invalid, notFound } from "../lib/fault.ts";
import { updateRole } from "./store/operator.ts";

const ROLE_ARN = /^arn:aws[a-z-]*:iam::\d{12}:role\/[\w+=,.@/-]{1,512}$/;
const EXTERNAL_ID = /^[\w+=,.@:/-]{2,1224}$/;

/** §4.12: role-based credentials are set by an operator, not through the API. A null role removes both. */
export async function setAccountRole(
  tx: Tx,
  accountId: number,
  roleArn: string | null,
  externalId: string | null,
): Promise<void> {
  if (roleArn !== null && !ROLE_ARN.test(roleArn)) {
    throw invalid("role_arn", "must be of the form arn:aws:iam::123456789012:role/name");
  }
  if (externalId !== null && !EXTERNAL_ID.test(externalId)) {
    throw invalid("external_id", "must have 2 to 1224 letters, digits or characters of _+=,.@:/-");
  }
  if (roleArn === null && externalId !== null) throw invalid("external_id", "needs a role_arn");
  if (!(await updateRole(tx, accountId, roleArn, externalId))) throw notFound("Account", accountId);
}
