import { expect, test } from "vitest";
import { useServer } from "../../../test/support/given.ts";
import { pauseNode } from "../../../test/support/pause-node.ts";
import { submitProgram } from "../../../test/support/programs.ts";
import { stubDriver } from "../../../test/support/stub-driver.ts";
import { Fault } from "../../lib/fault.ts";

const NOT_READY = "the engine is being set up";
let isReady = false;
const given = useServer({
  driver: {
    ...stubDriver,
    unready: () => (isReady ? null : NOT_READY),
    commandLine(run, folders) {
      if (!isReady) throw new Fault("unavailable", NOT_READY);
      return stubDriver.commandLine(run, folders);
    },
  },
});
pauseNode(given);
const PATIENCE = { timeout: 45_000 };

test("a command that was claimed before a crash waits until the restarted server is ready", async () => {
  const [operator, account] = [await given.operator(), await given.account()];
  const id = await submitProgram(account, "echo ran");
  const { nodes } = await operator.get("/api/v2/nodes");
  // As the row is after a crash between the claim and the start of the program.
  await given.app.services.db.system.query(
    "update command set status = 'running', node_id = $2, fence = fence + 1, attempt = 1 where id = $1",
    [id, nodes[0].id],
  );
  const state = async (): Promise<object> => account.get(`/commands/${id}`);
  await expect.poll(state, PATIENCE).toHaveProperty("waiting_reason");
  await operator.put(`/api/v2/nodes/${nodes[0].id}`, { state: "active" });
  await expect.poll(state, PATIENCE).toMatchObject({ status: "running", waiting_reason: NOT_READY });
  isReady = true;
  expect(await account.get(`/commands/${id}?wait_seconds=45`)).toMatchObject({ status: "done" });
});
