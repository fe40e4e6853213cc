import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { expect, onTestFinished, test } from "vitest";
import { AccountDisk } from "./account-disk.ts";

const MIB = 1024 * 1024;
const ACCOUNT = 1;
const RUNNING = 7;

test("refused uploads do not hide that a running program exceeds the quota", async () => {
  const dataDir = mkdtempSync(join(tmpdir(), "headgate-quota-"));
  const ended: string[] = [];
  const commands = {
    running: () => [{ id: RUNNING, accountId: ACCOUNT }],
    endRunsOf: (_accountId: number, cause: string) => void ended.push(cause),
  };
  const servers = { accounts: () => [] };
  const disk = new AccountDisk({
    dataDir,
    quotaBytes: 16 * MIB,
    servers,
    commands: () => commands,
    log: pino({ enabled: false }),
  });
  onTestFinished(async () => {
    await disk.stop();
    rmSync(dataDir, { recursive: true });
  });
  const folder = join(dataDir, "accounts", String(ACCOUNT), "commands", String(RUNNING));
  mkdirSync(folder, { recursive: true });
  const refused = () => expect(disk.reserve(ACCOUNT, 1000 * MIB)).rejects.toThrow(/HEADGATE_ACCOUNT_DISK/);
  await refused();
  await disk.enforce();
  expect(ended).toEqual([]);
  writeFileSync(join(folder, "scratch"), Buffer.alloc(20 * MIB));
  await expect
    .poll(async () => {
      await refused(); // takes the measurement that `enforce` would make
      return disk.excess(ACCOUNT);
    })
    .toMatch(/its files on this node/);
  await disk.enforce();
  expect(ended).toEqual([expect.stringMatching(/^the account is above its quota/)]);
});
