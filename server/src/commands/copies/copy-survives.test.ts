import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { copyEnd, printReport, submitCopy } from "../../../test/support/stub-copy.ts";
import { useNodes } from "../../../test/support/use-nodes.ts";
import { waitForCommandEnd } from "../../../test/support/wait-for-command-end.ts";
import { openRunnerClient } from "../../engines/runner/runner-client.ts";
import { commandFiles } from "../execution/command-files.ts";

const nodes = useNodes(["only"], () => ({ TEST_STUB_COPIES: "1" }));
const PATIENCE = { timeout: 45_000 };
const report = printReport(
  { copied: ["s3://in/a", "file:/out/a", 7] },
  { progress: { percent: 100, files: 1, totalFiles: 1, bytes: 7 } },
  copyEnd({ files: 1, bytes: 7 }),
);

/** A copy that waits until `letGo` is called. */
async function heldCopy() {
  const { accountId } = nodes.account;
  const gate = join(nodes.folder, "only/accounts", String(accountId), "storage", `gate-${Math.random()}`);
  const id = await submitCopy(nodes.at("only"), `while [ ! -e ${gate} ]; do sleep 0.05; done; ${report}`);
  await expect
    .poll(() => nodes.at("only").get(`/commands/${id}`), PATIENCE)
    .toMatchObject({ status: "running", pid: expect.any(Number) });
  const { folder } = commandFiles(join(nodes.folder, "only"), accountId, id).attempt(1);
  return { id, folder, letGo: () => writeFileSync(gate, "") };
}

async function expectDone(id: number): Promise<void> {
  const account = nodes.at("only");
  expect(await waitForCommandEnd(account, id)).toMatchObject({ status: "done" });
  const { text } = await account.get(`/commands/${id}/results?format=json`).reply();
  expect(JSON.parse(text)).toEqual([{ source: "s3://in/a", destination: "file:/out/a", bytes: 7 }]);
  const attempts = await nodes.db.system.query("select from command_attempt where command_id = $1", [id]);
  expect(attempts).toHaveLength(1);
}

test("a copy continues while its server is killed and started again", async () => {
  const { id, letGo } = await heldCopy();
  await nodes.process("only").crash();
  await nodes.start("only");
  await expect
    .poll(() => nodes.at("only").get(`/commands/${id}`), PATIENCE)
    .toMatchObject({ status: "running", pid: expect.any(Number) });
  letGo();
  await expectDone(id);
});

test("the result of a copy that ended while no server ran is stored by the next server", async () => {
  const { id, folder, letGo } = await heldCopy();
  await nodes.process("only").crash();
  letGo();
  await openRunnerClient(folder).waitForEnd(AbortSignal.timeout(PATIENCE.timeout));
  expect(existsSync(join(folder, "result-0.index"))).toBe(false);
  await nodes.start("only");
  await expectDone(id);
});
