import { test } from "vitest";
import { useSharedServer } from "../../../test/support/given.ts";

const given = useSharedServer();

test("an account can have at most 5,000 groups", async () => {
  const account = await given.account();
  await given.app.services.db.system.query(
    "insert into access_group (account_id, name) select $1, 'g' || n from generate_series(1, 4996) n",
    [account.accountId],
  );
  const { id } = await account.get("/groups/g1");
  await account.post("/groups", { name: "more" }).refused(422, /5000/);
  await account.post(`/groups/${id}/duplicate`, { name: "more" }).refused(422, /5000/);
  await account.get("/groups/more").refused(404);
  await account.delete(`/groups/${id}`);
  await account.post("/groups", { name: "more" });
});
