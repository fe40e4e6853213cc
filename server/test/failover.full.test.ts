/** A real failover that loses the last changes: to a copy of the files that was made before them. */
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, inject, test } from "vitest";
import { createAccountWithAdmin } from "../src/accounts/create-account-with-admin.ts";
import { addDefaultCluster } from "../src/clusters/default-cluster.ts";
import { openDatabase } from "../src/db/database.ts";
import { migrate } from "../src/db/migrate.ts";
import { newKey, writeKeys } from "../src/lib/key-ring.ts";
import { Client } from "./support/client.ts";
import { startNode, type NodeProcess } from "./support/node-process.ts";
import { submitProgram } from "./support/programs.ts";
import { makeScratchCluster, type ScratchCluster } from "./support/scratch-cluster.ts";

const primary = makeScratchCluster(inject("postgres").cacheDir);
const folder = mkdtempSync(join(tmpdir(), "headgate-failover-"));
let node: NodeProcess | undefined;
let standby: ScratchCluster | undefined;

afterAll(async () => {
  await node?.crash();
  await primary.dispose();
  await standby?.dispose();
  rmSync(folder, { recursive: true, force: true, maxRetries: 20 });
});

async function startOn(cluster: ScratchCluster, settings: Record<string, string> = {}): Promise<object> {
  const { socketDir, port, user, password, database } = await cluster.start(settings);
  return { host: socketDir, port, user, password, database };
}

async function serve(connection: object): Promise<string> {
  const dataDir = join(folder, "node");
  mkdirSync(dataDir, { recursive: true, mode: 0o711 });
  node = await startNode(dataDir, connection, {
    HEADGATE_KEY_FILE: join(folder, "keys"),
    DATABASE_URL: "postgres://shared",
    HEADGATE_LEASE_SECONDS: "10",
  });
  return node.url;
}

test("after a failover that loses the last commands, their ids are not given out again", async () => {
  chmodSync(folder, 0o711);
  writeKeys(join(folder, "keys"), [newKey([])]);
  const first = await startOn(primary);
  await migrate(first);
  const db = openDatabase({ ...first, max: 1 });
  const { token } = await db.asSystem((tx) =>
    createAccountWithAdmin(tx, {
      account: { name: "Failover", parentId: null, plan: "free" },
      admin: { email: "failover@example.test", name: "Founder", isOperator: false },
      features: [],
      addDefaults: addDefaultCluster,
    }),
  );
  const stored = await submitProgram(new Client(await serve(first), token), "true");
  const noted = (): Promise<object[]> => db.system.query("select timeline from node");
  await expect.poll(noted, { timeout: 30_000 }).toEqual([{ timeline: 1 }]);
  await db.close();
  await node?.stop();
  await primary.stop();
  standby = await primary.clone();

  const again = new Client(await serve(await startOn(primary)), token);
  const lost = [await submitProgram(again, "true"), await submitProgram(again, "true")];
  await node?.crash();
  await primary.stop();

  // Recovery without an archive ends at once, and with a new timeline, as the promotion of a standby does. Until then
  // connections are refused.
  const signal = join(standby.cluster.data, "recovery.signal");
  const { uid, gid } = statSync(standby.cluster.data);
  writeFileSync(signal, "");
  chownSync(signal, uid, gid);
  const promoted = new Client(
    await serve(await startOn(standby, { restore_command: "false", hot_standby: "off" })),
    token,
  );
  await promoted.get(`/commands/${lost[0]}`).refused(404);
  expect((await promoted.get(`/commands/${stored}`)).id).toBe(stored);
  expect(await submitProgram(promoted, "true")).toBeGreaterThan(stored + 10_000);
});
