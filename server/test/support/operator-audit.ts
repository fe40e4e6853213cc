import type { Queryable } from "../../src/db/database.ts";

/** The entries of the operator's command line in an account's audit log, in order. */
export async function operatorAudit(system: Queryable, accountId: number): Promise<object[]> {
  return system.query(
    `select operation, object, email, user_id, address, outcome from audit_event
      where account_id = $1 and email like 'operator%' order by id`,
    [accountId],
  );
}

export function byOperator(operation: string, object: string): object {
  return { operation, object, email: "operator (command line)", user_id: null, address: null, outcome: "done" };
}
