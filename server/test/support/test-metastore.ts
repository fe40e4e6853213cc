import { randomBytes } from "node:crypto";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { ClientConfig } from "pg";
import { inject } from "vitest";
import { Metastore } from "../../src/engines/hive-metastore/metastore.ts";
import { findBubblewrap } from "../../src/engines/sandbox/find-bubblewrap.ts";
import { openSandbox } from "../../src/engines/sandbox/sandbox.ts";
import { findSparkHome } from "./connect-server.ts";
import { cloneDatabase } from "./test-database.ts";

/** A real metastore for one test file, on a database of its own in the PostgreSQL of the run. */
export interface TestMetastore {
  readonly port: number;
  readonly secret: string;
  readonly warehouse: string;
  /** Of its database. */
  readonly connection: ClientConfig;
  stop(): Promise<void>;
}

const START_MS = 120_000;

export async function startTestMetastore(): Promise<TestMetastore> {
  const base = mkdtempSync(join(tmpdir(), "headgate-tables-"));
  chmodSync(base, 0o711);
  const own = await cloneDatabase("template1");
  const { port, user, password, database } = own.connection;
  const metastore = new Metastore(join(base, "process"));
  const warehouse = join(base, "warehouse");
  const secret = randomBytes(24).toString("hex");
  const stop = async (): Promise<void> => {
    await metastore.stop();
    await own.drop();
    rmSync(base, { recursive: true, force: true });
  };
  const identity = process.getuid?.() === 0 ? { uid: 200_078, gid: 200_078 } : undefined;
  try {
    await metastore.start({
      home: await findSparkHome(inject("postgres").cacheDir),
      settings: {
        database: { jdbcUrl: `jdbc:postgresql://127.0.0.1:${port}/${database}`, user, password },
        warehouse: pathToFileURL(warehouse).href,
        secret,
        port: 0,
        properties: {},
        classPath: [],
      },
      readOnly: [],
      writable: [warehouse],
      sandbox: openSandbox("auto", await findBubblewrap(identity)),
      identity,
      userName: "account78",
      levels: 1,
      leaseFile: null,
      leaseSeconds: 600,
    });
    const served = await metastore.ready(AbortSignal.timeout(START_MS));
    return { port: served, secret, warehouse, connection: own.connection, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
