import { pathToFileURL } from "node:url";
import type { Metastore } from "../../src/engines/hive-metastore/metastore.ts";
import { openSandbox } from "../../src/processes/sandbox/sandbox.ts";
import { findTestBubblewrap } from "../bubblewrap/find-test-bubblewrap.ts";

type MetastorePlan = Parameters<Metastore["start"]>[0];

export interface MetastoreChoices {
  readonly home: MetastorePlan["home"];
  readonly database: MetastorePlan["settings"]["database"];
  readonly warehouse: string;
  readonly secret: string;
  /** 0: any free port. */
  readonly port: number;
  readonly firstClientWaitMs?: number;
  /** The number of the account, also its user id where the test runs as root. */
  readonly account: number;
}

/** What a test starts a metastore with: no lease, no limits that end it. */
export async function planMetastore({
  home,
  database,
  warehouse,
  secret,
  port,
  firstClientWaitMs = 0,
  account,
}: MetastoreChoices): Promise<MetastorePlan> {
  const identity = identityOf(account);
  return {
    home,
    settings: {
      database,
      warehouse: pathToFileURL(warehouse).href,
      secret,
      port,
      firstClientWaitMs,
      properties: {},
      classPath: [],
    },
    readOnly: [],
    writable: [warehouse],
    sandbox: openSandbox("auto", await findTestBubblewrap(identity)),
    identity,
    userName: `account${account}`,
    levels: 1,
    leaseFile: null,
    leaseSeconds: 600,
    orphan: null,
    rosterFolder: null,
    usersFolder: null,
    memoryMiB: 1024,
  };
}

export function identityOf(account: number): { uid: number; gid: number } | undefined {
  return process.getuid?.() === 0 ? { uid: 200_000 + account, gid: 200_000 + account } : undefined;
}
