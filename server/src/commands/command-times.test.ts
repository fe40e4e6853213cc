import { expect, test } from "vitest";
import { useServer } from "../../test/support/given.ts";

const given = useServer({ settings: { HEADGATE_COMMAND_TIMES: "epoch" } });

test("with HEADGATE_COMMAND_TIMES=epoch start and end are integers", async () => {
  const account = await given.account();
  const { id } = await account.post("/commands", { command_type: "HiveCommand", query: "show tables" });
  await given.app.services.db.system.query(
    "update command set status = 'done', start_time = to_timestamp(1700000000.9), end_time = to_timestamp(1700000001) where id = $1",
    [id],
  );
  expect(await account.get(`/commands/${id}`)).toMatchObject({ start_time: 1_700_000_000, end_time: 1_700_000_001 });
});
