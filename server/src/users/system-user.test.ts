import { test } from "vitest";
import { useSharedServer } from "../../test/support/given.ts";

const given = useSharedServer();

test("a system-user sees neither pending users nor the audit, and can reset only their own token", async () => {
  const account = await given.account();
  const user = await given.member(account, { groups: ["system-user"] });
  const other = await given.member(account, { groups: ["system-user"] });
  await user.get("/accounts/get_pending_users").refused(403, /account:read/);
  await user.get("/api/v2/audit_events").refused(403, /account:read/);
  await user.put("/accounts/token", { emails: other.email }).refused(403, /svc_user:update/);
  await user.put("/accounts/token");
});
