import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { stubSparkHome } from "../../../test/support/stub-spark-home.ts";
import { openSandbox } from "../../processes/sandbox/sandbox.ts";
import { NOTHING_CONTRIBUTED } from "../spark-home/contribution.ts";
import { ConnectServer } from "./connect-server.ts";

const plan = {
  sandbox: openSandbox("none", { kind: "missing", reason: "" }),
  identity: undefined,
  userName: "account1",
  levels: 0,
  leaseFile: null,
  leaseSeconds: 60,
  orphan: null,
  rosterFolder: null,
  memoryMiB: 1024,
};

describe("a Spark server that starts slowly", () => {
  let base: string;
  let server: ConnectServer;

  beforeEach(() => {
    base = mkdtempSync(join(tmpdir(), "headgate-connect-"));
    server = new ConnectServer(join(base, "server"));
  });
  afterEach(async () => {
    await server.stop();
    rmSync(base, { recursive: true, force: true });
  });

  async function start(master: string): Promise<void> {
    const java = join(base, "java");
    writeFileSync(java, "#!/bin/sh\nexec sleep 600\n");
    chmodSync(java, 0o755);
    await server.start({
      ...plan,
      home: stubSparkHome(java),
      contribution: { ...NOTHING_CONTRIBUTED, properties: { "spark.master": master } },
    });
    await expect.poll(() => server.pid()).not.toBeNull();
  }

  const file = (): string => join(server.folder, "server.json");
  const known = (): Record<string, unknown> => JSON.parse(readFileSync(file(), "utf8"));

  it("may take an hour on YARN, where it waits in a queue, and the default time elsewhere", async () => {
    await start("yarn");
    expect(known()).toMatchObject({ startLimitMs: 3_600_000 });
    await server.stop();
    server = new ConnectServer(join(base, "other"));
    await start("local[*]");
    expect(known()).not.toHaveProperty("startLimitMs");
  });

  it("times out after a restart of our server, too", async () => {
    await start("yarn");
    writeFileSync(file(), JSON.stringify({ ...known(), startLimitMs: 1 }));
    const signal = AbortSignal.timeout(60_000);
    await expect(new ConnectServer(server.folder).ready(signal)).rejects.toThrow("did not become ready within");
  });
});
