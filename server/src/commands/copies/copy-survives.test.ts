import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test, vi } from "vitest";
import { copyEnd, printReport, submitCopy } from "../../../test/support/stub-copy.ts";
import { useNodes } from "../../../test/support/use-nodes.ts";
import { waitForCommandEnd } from "../../../test/support/wait-for-command-end.ts";
import { openRunnerClient } from "../../processes/runner/runner-client.ts";
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
  await waitUntilRunning(id);
  const { folder } = commandFiles(join(nodes.folder, "only"), accountId, id).attempt(1);
  return { id, folder, letGo: () => writeFileSync(gate, "") };
}

/** This server knows the process. */
async function waitUntilRunning(id: number): Promise<void> {
  const running = { status: "running", pid: expect.any(Number) as number };
  await vi.waitFor(async () => expect(await nodes.at("only").get(`/commands/${id}`)).toMatchObject(running), PATIENCE);
}

async function expectDone(id: number): Promise<void> {
  const account = nodes.at("only");
  expect(await waitForCommandEnd(account, id)).toMatchObject({ status: "done" });
  const { text } = await account.get(`/commands/${id}/results?format=json`).reply();
  expect(JSON.parse(text)).toEqual([{ source: "s3://in/a", destination: "file:/out/a", bytes: 7 }]);
  const attempts = await nodes.db.system.query("select from command_attempt where command_id = $1", [id]);
  expect(attempts).toHaveLength(1);
}

/** Copies of a server that is killed and started again; one of them ends in between. */
let copies: Record<"running" | "ended", Awaited<ReturnType<typeof heldCopy>>>;
beforeAll(async () => {
  const [running, ended] = await Promise.all([heldCopy(), heldCopy()]);
  await nodes.process("only").crash();
  ended.letGo();
  await openRunnerClient(ended.folder).waitForEnd(AbortSignal.timeout(PATIENCE.timeout));
  expect(existsSync(join(ended.folder, "result-0.index"))).toBe(false);
  await nodes.start("only");
  copies = { running, ended };
});

test("a copy continues while its server is killed and started again", async () => {
  const { id, letGo } = copies.running;
  await waitUntilRunning(id);
  letGo();
  await expectDone(id);
});

test("the result of a copy that ended while no server ran is stored by the next server", async () => {
  await expectDone(copies.ended.id);
});
