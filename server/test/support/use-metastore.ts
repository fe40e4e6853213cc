import { Client, Pool } from "pg";
import { afterAll, beforeAll } from "vitest";
import type { Queryable } from "../../src/db/database.ts";
import { queryableOf } from "../../src/db/queryable-of.ts";
import { HiveClient, type HiveClientOptions } from "../../src/engines/hive-thrift/hive-client.ts";
import { Secret } from "../../src/lib/secret.ts";
import { SET_UP_MS } from "./connect-server.ts";
import { HiveWriter } from "./hive-writer.ts";
import type { TestDatabase } from "./test-database.ts";
import { startTestMetastore, type TestMetastore } from "./test-metastore.ts";

/** A real metastore for one test file, with clients for its Thrift port and its database. */
export interface UsedMetastore extends TestMetastore {
  /** Connections to its database. */
  readonly pool: Pool;
  readonly reader: Queryable;
  /** A connection to its database with the application name `adder`, which the caller ends. */
  connect(): Promise<Client>;
  readonly client: HiveClient;
  readonly writer: HiveWriter;
  /** The number of connections that wait for a lock: those of the test, or the metastore's own. */
  waiting(whose: "ours" | "its own"): Promise<number>;
  /** Options for further clients. */
  clientOptions(changes?: Partial<HiveClientOptions>): HiveClientOptions;
}

const CONNECTIONS = 4;

/** Starts it before the tests of the surrounding `describe` and ends it after them; later hooks can already use it. */
export function useMetastore(database?: () => Promise<TestDatabase>): UsedMetastore {
  let opened: UsedMetastore | undefined;
  beforeAll(async () => {
    opened = open(await startTestMetastore(await database?.()));
  }, SET_UP_MS);
  afterAll(async () => {
    opened?.client.close();
    opened?.writer.close();
    await opened?.pool.end();
    await opened?.stop();
  });
  const up = (): UsedMetastore => {
    if (opened === undefined) throw new Error("the metastore runs only inside tests and hooks");
    return opened;
  };
  return {
    get port() {
      return up().port;
    },
    get secret() {
      return up().secret;
    },
    get warehouse() {
      return up().warehouse;
    },
    get connection() {
      return up().connection;
    },
    get pool() {
      return up().pool;
    },
    get client() {
      return up().client;
    },
    get writer() {
      return up().writer;
    },
    reader: { query: (text, values) => up().reader.query(text, values) },
    connect: () => up().connect(),
    waiting: (whose) => up().waiting(whose),
    clientOptions: (changes) => up().clientOptions(changes),
    kill: () => up().kill(),
    startAgain: () => up().startAgain(),
    stop: () => up().stop(),
  };
}

function open(metastore: TestMetastore): UsedMetastore {
  const { port, secret, connection } = metastore;
  const pool = new Pool({ ...connection, max: CONNECTIONS });
  // Some tests kill the server of the connection.
  pool.on("error", () => undefined);
  pool.on("connect", (each) => each.on("error", () => undefined));
  const clientOptions: UsedMetastore["clientOptions"] = (changes = {}) => ({
    host: "127.0.0.1",
    port,
    checkAddress: () => null,
    user: "us",
    secret: new Secret(secret),
    ...changes,
  });
  return {
    ...metastore,
    pool,
    reader: queryableOf(pool),
    async connect() {
      const own = new Client({ ...connection, application_name: "adder" });
      own.on("error", () => undefined);
      await own.connect();
      return own;
    },
    async waiting(whose) {
      const { rowCount } = await pool.query(
        `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
            and (application_name = 'adder') = $1`,
        [whose === "ours"],
      );
      return rowCount ?? 0;
    },
    client: new HiveClient(clientOptions()),
    writer: new HiveWriter(clientOptions()),
    clientOptions,
  };
}
