import { randomBytes } from "node:crypto";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, inject } from "vitest";
import type { EmbeddedPostgres } from "../../src/db/embedded/embedded-postgres.ts";
import { Metastore } from "../../src/engines/hive-metastore/metastore.ts";
import type { HiveClientOptions } from "../../src/engines/hive-thrift/hive-client.ts";
import type { SparkHome } from "../../src/engines/spark-home/spark-home.ts";
import { Secret } from "../../src/lib/secret.ts";
import { findSparkHome, SET_UP_MS } from "./connect-server.ts";
import { identityOf, planMetastore } from "./metastore-plan.ts";
import { makeScratchCluster, query, type ScratchCluster } from "./scratch-cluster.ts";

export interface MetastoreChanges {
  readonly port?: number;
  readonly password?: string;
  readonly firstClientWaitMs?: number;
}

/** A metastore on a PostgreSQL of its own; a test may stop both. It can start further metastores on the same database. */
export interface ScratchMetastore {
  readonly home: SparkHome;
  readonly cluster: ScratchCluster;
  readonly postgres: EmbeddedPostgres;
  readonly first: Metastore;
  readonly port: number;
  readonly secret: string;
  readonly warehouse: string;
  readonly identity: { uid: number; gid: number } | undefined;
  start(changes?: MetastoreChanges): Promise<Metastore>;
  /** Returns its port. */
  ready(metastore: Metastore): Promise<number>;
  /** Starts PostgreSQL again. */
  startPostgres(): Promise<void>;
  clientOptions(): HiveClientOptions;
  /** Runs a statement in the metastore's database. */
  rows(sql: string): Promise<Record<string, unknown>[]>;
}

const START_MS = 120_000;
const ACCOUNT = 77;
/** The same as in `database-address.ts`. */
const scramOnly =
  "sslmode=disable&requireAuth=scram-sha-256&authenticationPluginClassName=headgate.metastore.ScramOnly";

export function useScratchMetastore(): ScratchMetastore {
  const identity = identityOf(ACCOUNT);
  const secret = randomBytes(24).toString("hex");
  const base = mkdtempSync(join(tmpdir(), "headgate-metastore-"));
  const warehouse = join(base, "warehouse");
  const made: Metastore[] = [];
  let home: SparkHome;
  let cluster: ScratchCluster;
  let postgres: EmbeddedPostgres;
  let first: Metastore;
  let port: number;

  beforeAll(async () => {
    chmodSync(base, 0o711);
    const { cacheDir } = inject("postgres");
    home = await findSparkHome(cacheDir);
    cluster = makeScratchCluster(cacheDir);
    postgres = await cluster.start();
    await query(postgres, "create database tables");
    first = await start();
    port = await ready(first);
  }, SET_UP_MS);

  afterAll(async () => {
    await Promise.all(made.map((each) => each.stop()));
    await cluster.dispose();
    rmSync(base, { recursive: true, force: true });
  });

  async function start({ port = 0, password, ...changes }: MetastoreChanges = {}): Promise<Metastore> {
    const metastore = new Metastore(join(base, `process-${made.length}`));
    made.push(metastore);
    await metastore.start(
      await planMetastore({
        home,
        database: {
          jdbcUrl: `jdbc:postgresql://127.0.0.1:${postgres.port}/tables?${scramOnly}`,
          user: postgres.user,
          password: password ?? postgres.password,
        },
        warehouse,
        secret,
        port,
        ...changes,
        account: ACCOUNT,
      }),
    );
    return metastore;
  }

  function ready(metastore: Metastore): Promise<number> {
    return metastore.ready(AbortSignal.timeout(START_MS));
  }

  return {
    get home() {
      return home;
    },
    get cluster() {
      return cluster;
    },
    get postgres() {
      return postgres;
    },
    get first() {
      return first;
    },
    get port() {
      return port;
    },
    secret,
    warehouse,
    identity,
    start,
    ready,
    async startPostgres() {
      postgres = await cluster.start();
    },
    clientOptions: () => ({
      host: "127.0.0.1",
      port,
      checkAddress: () => null,
      user: "us",
      secret: new Secret(secret),
    }),
    rows: (sql) => query({ ...postgres, database: "tables" }, sql),
  };
}
