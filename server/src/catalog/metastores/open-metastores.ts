import { metastoreMemoryMiB } from "../../engines/hive-metastore/metastore-command-line.ts";
import { authorityFile, Metastore, type MetastorePlan } from "../../engines/hive-metastore/metastore.ts";
import type { LastingTerms } from "../../processes/lasting-process/lasting-process.ts";
import type { SparkSetUp } from "../../engines/spark-home/spark-set-up.ts";
import { Fault } from "../../lib/fault.ts";
import { jdbcUrl } from "./database-address.ts";
import { metastoreFolders } from "./metastore-folder.ts";
import type { MetastoreDatabases, MetastoreLogin } from "./metastore-databases.ts";
import { Metastores, type MetastoresOptions } from "./metastores.ts";
import type { MetastoreLaunch, MetastoreProcess } from "./start-metastore.ts";

export interface OpenMetastoresOptions extends Omit<MetastoresOptions, "openProcess" | "memoryMiB">, LastingTerms {
  /** Undefined: no metastore can be started. */
  readonly spark: Pick<SparkSetUp, "current"> | undefined;
  readonly databases: Pick<MetastoreDatabases, "provide">;
  /** The user that the account's processes run as. */
  readonly identityOf: (accountId: number) => MetastorePlan["identity"];
  /** The roster of the account's programs and queries on this node. */
  readonly rosterOf: (accountId: number) => string;
  /** The roster of the processes that need the embedded PostgreSQL; null: there is no embedded one. */
  readonly databaseRoster: string | null;
}

/** The account's user must be able to enter <data>/accounts/<account>/metastore/<process>. */
const LEVELS = 3;
const WAREHOUSE = "spark.sql.warehouse.dir";

/** The metastores of this node. They run from Spark's jars, each on its account's database. */
export function openMetastores(options: OpenMetastoresOptions): Metastores {
  return new Metastores({
    ...options,
    memoryMiB: metastoreMemoryMiB,
    openProcess: (folder) => processIn(folder, options),
  });
}

function processIn(folder: string, options: OpenMetastoresOptions): MetastoreProcess {
  const metastore = new Metastore(folder);
  return Object.assign(metastore, {
    async startFor(launch: MetastoreLaunch) {
      const spark = options.spark?.current();
      if (spark?.state !== "ready") throw new Fault("unavailable", "Spark is not set up on this node");
      const { accountId, secrets } = launch;
      const login = await options.databases.provide(accountId, secrets.password);
      await metastore.start({
        ...options,
        memoryMiB: metastoreMemoryMiB,
        home: spark.home,
        settings: settingsOf(folder, launch, login),
        readOnly: launch.storage.readOnly ?? [],
        writable: launch.storage.writable ?? [],
        identity: options.identityOf(accountId),
        userName: `account${accountId}`,
        levels: LEVELS,
        rosterFolder: options.databaseRoster,
        usersFolder: options.rosterOf(accountId),
      });
    },
  });
}

function settingsOf(folder: string, launch: MetastoreLaunch, login: MetastoreLogin): MetastorePlan["settings"] {
  const { secrets, storage, port, firstClientWaitMs } = launch;
  const { address, database, user, password } = login;
  const { [WAREHOUSE]: warehouse, ...properties } = storage.properties ?? {};
  if (warehouse === undefined) throw new Fault("internal", "the account's storage has no warehouse location");
  const authority = address.ssl === false ? undefined : address.ssl.ca;
  return {
    database: {
      jdbcUrl: jdbcUrl(address, database, authorityFile(folder)),
      user,
      password: password.reveal(),
      authority: authority === undefined ? undefined : String(authority),
    },
    warehouse,
    secret: secrets.secret.reveal(),
    port,
    firstClientWaitMs,
    properties,
    classPath: storage.classPath ?? [],
  };
}

/** Ends the metastores of an account or of all. Returns how many ran. */
export async function endMetastores(dataDir: string, accountId?: number): Promise<number> {
  return metastoreFolders(dataDir).end((path) => new Metastore(path), accountId);
}
