import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { PoolConfig } from "pg";
import { pino } from "pino";
import { afterAll, beforeAll, test } from "vitest";
import { mintToken, tokenSha256 } from "../../src/access/token.ts";
import { createAccountWithAdmin } from "../../src/accounts/create-account-with-admin.ts";
import { addDefaultCluster } from "../../src/clusters/default-cluster.ts";
import { startApp, type App } from "../../src/app.ts";
import type { AppControl } from "../../src/apps/app-control.ts";
import type { ClusterControl } from "../../src/clusters/control.ts";
import type { ListKinds } from "../../src/compose/kinds.ts";
import type { ProgramDriver } from "../../src/commands/programs/program-driver.ts";
import { readConfig, type Config } from "../../src/config.ts";
import type { Clock } from "../../src/lib/clock.ts";
import type { Feature } from "../../src/lib/features.ts";
import { newKey, writeKeys } from "../../src/lib/key-ring.ts";
import { Client } from "./client.ts";
import { testCacheDir } from "./cache-dir.ts";
import { repositoryDir } from "./repository-dir.ts";
import { cloneDatabase, type TestDatabase } from "./test-database.ts";

/** A server with its database, and quick ways to fill it. */
export interface Given {
  readonly app: App;
  readonly base: string;
  readonly database: TestDatabase;
  readonly dataDir: string;
  /** A new account; the client is its first system-admin. */
  account(options?: AccountOptions): Promise<AccountClient>;
  /** An operator, in an account of its own. */
  operator(): Promise<AccountClient>;
  /** Another user of the account. */
  member(account: AccountClient, options?: MemberOptions): Promise<MemberClient>;
  anonymous(): Client;
}

export interface AccountOptions {
  name?: string;
  features?: readonly Feature[];
  isOperator?: boolean;
  email?: string;
}

export interface MemberOptions {
  /** Names of groups of the account; none by default. */
  groups?: readonly string[];
  state?: "pending" | "active" | "disabled";
  email?: string;
}

export class AccountClient extends Client {
  readonly accountId: number;
  readonly email: string;
  constructor(base: string, token: string, accountId: number, email: string) {
    super(base, token);
    this.accountId = accountId;
    this.email = email;
  }
}

export class MemberClient extends AccountClient {
  readonly membershipId: number;
  constructor(base: string, token: string, accountId: number, email: string, membershipId: number) {
    super(base, token, accountId, email);
    this.membershipId = membershipId;
  }
}

export interface ServerOptions {
  settings?: Record<string, string>;
  clock?: Clock;
  /**
   * Whether the server assumes that programs of different accounts are isolated. True by default, even on machines
   * without user namespaces: the API separates accounts without them.
   */
  isIsolated?: boolean;
  driver?: ProgramDriver;
  commandKinds?: ListKinds;
  /** An existing folder; its content is removed at the end. */
  dataDir?: string | undefined;
  clusterControl?: ClusterControl;
  appControl?: AppControl;
  /** Changes the server's connection to its database, such as to a proxy; direct by default. */
  reach?: (connection: TestDatabase["connection"]) => Promise<PoolConfig>;
  /** The clock by which the silence of other nodes is measured. */
  silenceClock?: () => number;
}

let uniqueEmail = 0;

/** A running server with its database and data folder. */
interface RunningServer {
  readonly app: App;
  readonly database: TestDatabase;
  readonly dataDir: string;
}

/** A server for this test file only. */
export function useServer(options: ServerOptions = {}): Given {
  let running: RunningServer | undefined;
  beforeAll(async () => {
    running = await startServer(options);
  });
  afterAll(async () => {
    if (running !== undefined) await stopServer(running);
  });
  return givenOn(() => running);
}

/** Started by the first file that uses it, and stopped when its worker has no more files. */
const sharing = test.extend(
  "server",
  { scope: "worker" },
  // oxlint-disable-next-line no-empty-pattern -- vitest reads there which fixtures this one needs
  async ({}, { onCleanup }): Promise<RunningServer> => {
    const server = await startServer({ settings: { HEADGATE_RATE_LIMIT: "0", HEADGATE_BAD_TOKEN_LIMIT: "0" } });
    onCleanup(() => stopServer(server));
    return server;
  },
);

/**
 * One server for all test files of the same worker, because starting one takes longer than most tests. Use it only for
 * tests that read nothing but their own accounts and leave no lock waiting. Its rate limits are off.
 */
export function useSharedServer(): Given {
  let running: RunningServer | undefined;
  sharing.beforeAll(({ server }) => {
    running = server;
  });
  return givenOn(() => running);
}

async function startServer({
  settings,
  dataDir = mkdtempSync(join(tmpdir(), "headgate-file-")),
  reach,
  isIsolated = true,
  ...otherOptions
}: ServerOptions): Promise<RunningServer> {
  await using undo = new AsyncDisposableStack();
  undo.defer(() => removeDataDir(dataDir));
  chmodSync(dataDir, 0o711); // if the tests run as root, programs have the account's uid
  const database = await cloneDatabase();
  undo.defer(() => database.drop());
  const config = testConfig(dataDir, settings);
  writeKeys(config.keyFile, [newKey([])]);
  const app = await startApp({
    ...otherOptions,
    config,
    connection: (await reach?.(database.connection)) ?? database.connection,
    log: pino({ level: process.env.TEST_LOG ?? "silent" }),
    isIsolated,
  });
  undo.move(); // only a failed start is undone here
  return { app, database, dataDir };
}

async function stopServer({ app, database, dataDir }: RunningServer): Promise<void> {
  await app.stop(AbortSignal.abort()); // without waiting for connections that a test left open
  await database.drop();
  removeDataDir(dataDir);
}

function removeDataDir(dataDir: string): void {
  rmSync(dataDir, { recursive: true, force: true, maxRetries: 20 }); // runners outlive the server and still write
}

function givenOn(current: () => RunningServer | undefined): Given {
  let operator: AccountClient | undefined;
  const running = (): RunningServer => {
    const server = current();
    if (server === undefined) throw new Error("the server runs only inside tests and hooks");
    return server;
  };

  const given: Given = {
    get app() {
      return running().app;
    },
    get base() {
      return running().app.url;
    },
    get database() {
      return running().database;
    },
    get dataDir() {
      return current()?.dataDir ?? "";
    },
    async account({ name = "Test account", features = [], isOperator = false, email = newEmail() } = {}) {
      const founded = await given.app.services.db.asSystem((tx) =>
        createAccountWithAdmin(tx, {
          account: { name, parentId: null, plan: "free" },
          admin: { email, name: "Founder", isOperator },
          features,
          addDefaults: addDefaultCluster,
        }),
      );
      return new AccountClient(given.base, founded.token, founded.accountId, email);
    },
    async operator() {
      operator ??= await given.account({ name: "First", isOperator: true });
      return operator;
    },
    async member(account, { groups = [], state = "active", email = newEmail() } = {}) {
      const token = mintToken();
      const membershipId = await insertMember(given, account, { groups, state, email, token });
      return new MemberClient(given.base, token, account.accountId, email, membershipId);
    },
    anonymous: () => new Client(given.base),
  };
  return given;
}

export function testConfig(dataDir: string, settings: Record<string, string> = {}): Config {
  const own = {
    HEADGATE_PORT: "0",
    HEADGATE_DATA_DIR: dataDir,
    HEADGATE_LOW_DISK: "0",
    HEADGATE_RUN_NICE: "0",
    HOME: dataDir,
  };
  return readConfig(
    { ...own, HEADGATE_CACHE_DIR: testCacheDir(), ...settings },
    { repositoryDir, isRoot: false, readFile: () => "" },
  );
}

export function newEmail(): string {
  uniqueEmail += 1;
  return `user${uniqueEmail}@example.test`;
}

async function insertMember(
  given: Given,
  account: AccountClient,
  member: Required<MemberOptions> & { token: string },
): Promise<number> {
  return given.app.services.db.asSystem(async (tx) => {
    const [row] = await tx.query<{ id: number }>(
      `with u as (insert into app_user (email) values ($1)
                  on conflict (lower(email)) do update set email = app_user.email returning id)
       insert into membership (account_id, user_id, name, state) select $2, id, $1, $3 from u returning id`,
      [member.email, account.accountId, member.state],
    );
    if (row === undefined) throw new Error("the user has no membership in the account");
    await tx.query("insert into api_token (account_id, membership_id, sha256) values ($1, $2, $3)", [
      account.accountId,
      row.id,
      tokenSha256(member.token),
    ]);
    await tx.query(
      `insert into access_group_member (account_id, group_id, membership_id)
       select account_id, id, $2 from access_group where account_id = $1 and name = any ($3)`,
      [account.accountId, row.id, [...member.groups]],
    );
    return row.id;
  });
}
