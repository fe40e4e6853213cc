/**
 * The databases of the metastores, one for each account that has used Spark, on the product's PostgreSQL server. A
 * metastore needs a database of its own, as its tables have fixed names. Only one role may connect to it, and that role
 * has no other rights, because its password is given to a process of the account.
 *
 * The role owns the tables, so the account decides what runs when they are read or written, by a trigger or a view on a
 * function. We therefore also log in as that role, with its password. A session of the product's user with `set role`
 * would not be safe: the account's code could switch back.
 */
import { Client, type ClientConfig } from "pg";
import { errorCode, isStoreUnavailable, storeFault } from "../../db/store-fault.ts";
import { adviceFor } from "../../db/check-database-url.ts";
import { trustProblem, watchLogin } from "../../db/detect-trust.ts";
import { scramVerifier } from "../../db/scram-verifier.ts";
import { limitConcurrency } from "../../lib/limit-concurrency.ts";
import { Fault } from "../../lib/fault.ts";
import type { Secret } from "../../lib/secret.ts";
import { limitResultSize } from "./limit-result-size.ts";
import { databaseAddress, type DatabaseAddress } from "./database-address.ts";
import { fitConnectionLimits, IdleRoles } from "./fit-connection-limits.ts";
import { metastoreName, metastorePrefix } from "./metastore-names.ts";
import {
  connectionFields,
  isLoginRefused,
  isOutOfConnections,
  NO_DATABASE,
  openClient,
  STATEMENT_LIMIT_MS,
  timeouts,
} from "./open-connection.ts";
import { MIN_PER_ROLE, MAX_PER_ROLE } from "./plan-connection-limits.ts";
import {
  createDatabase,
  createOrAlterRole,
  databaseExists,
  dropDatabaseAndRole,
  grantConnect,
  grantSchema,
  listAccountsWithDatabase,
  listOrphans,
  lockName,
  mayConnect,
  readRights,
  revokePublicConnect,
} from "./store/metastore-database.ts";
import { readConnectionLimit } from "./store/role-connections.ts";

export interface MetastoreDatabasesOptions {
  readonly connection: ClientConfig;
  readonly isEmbedded: boolean;
  /** Accounts with a metastore on this node. They keep their connections if there are too few for all accounts. */
  readonly accountsInUse?: () => readonly number[];
  readonly now?: () => number;
}

export interface MetastoreLogin {
  readonly address: DatabaseAddress;
  readonly database: string;
  readonly user: string;
  readonly password: Secret;
}

const WRITE_LIMIT_MS = 120_000;

/** For our sessions: overrides a search path that the account's role may have set. */
const SESSION = "-c search_path=public,pg_temp";

export class MetastoreDatabases {
  readonly #options: MetastoreDatabasesOptions;
  readonly #makingRoom = new Map<number, Promise<void>>();
  readonly #oneByOne = limitConcurrency(1);
  readonly #idleRoles: IdleRoles;

  constructor(options: MetastoreDatabasesOptions) {
    this.#options = options;
    this.#idleRoles = new IdleRoles(options.now ?? (() => performance.now()));
  }

  /** Returns a login that works; creates or repairs the database and the role if necessary. */
  async provide(accountId: number, password: Secret): Promise<MetastoreLogin> {
    const { product } = this.#server();
    const login = this.#loginOf(accountId, password);
    if (await this.#isReady(login, product)) return login;
    await this.#create(accountId, login.database, password);
    await this.#assertLogin(login);
    return login;
  }

  async drop(accountId: number): Promise<void> {
    await this.#dropNamed(metastoreName(this.#server().product, accountId));
  }

  /** Drops up to `limit` databases of deleted accounts. Returns how many. */
  async dropOrphans(limit: number): Promise<number> {
    const prefix = metastorePrefix(this.#server().product);
    const names = await this.#connected({}, (client) => listOrphans(client, prefix, limit));
    for (const name of names) await this.#dropNamed(name);
    return names.length;
  }

  /** Adapts the limits to changed settings of the server, to changes in use, and to roles of an earlier version. */
  async fitConnectionLimits(): Promise<void> {
    await this.#connected({}, (client) => this.#fitLimits(client));
  }

  /**
   * Lets the metastore's role connect again if it has lost its connections while it was idle. Accounts take turns and
   * concurrent callers share one run, so that a role that has used up its connections cannot make us use many.
   */
  makeRoom(accountId: number): Promise<void> {
    const fit = (): Promise<void> => this.#connected({}, (client) => this.#fitLimits(client, accountId));
    const making =
      this.#makingRoom.get(accountId) ?? this.#oneByOne(fit).finally(() => this.#makingRoom.delete(accountId));
    this.#makingRoom.set(accountId, making);
    return making;
  }

  /** The ids of accounts with a database. */
  async list(): Promise<number[]> {
    const prefix = metastorePrefix(this.#server().product);
    return this.#connected({}, (client) => listAccountsWithDatabase(client, prefix));
  }

  /** Repairs the login of an existing database. False: there is no database. */
  async repair(accountId: number, password: Secret): Promise<boolean> {
    const name = metastoreName(this.#server().product, accountId);
    if (!(await this.#connected({}, (client) => databaseExists(client, name)))) return false;
    await this.provide(accountId, password);
    return true;
  }

  /** Connects as the metastore's role; the caller closes the connection. A null limit also lifts that of answers. */
  async connect(
    accountId: number,
    password: Secret,
    { limitMs = WRITE_LIMIT_MS }: { limitMs?: number | null } = {},
  ): Promise<Client> {
    const config = { ...this.#asRole(this.#loginOf(accountId, password)), ...timeouts(limitMs), options: SESSION };
    const client = await openClient(config).catch(async (error: unknown) => {
      if (isOutOfConnections(error)) await this.makeRoom(accountId);
      else if (!isLoginRefused(error) || !(await this.repair(accountId, password))) throw error;
      return openClient(config);
    });
    if (limitMs !== null) limitResultSize(client);
    return client;
  }

  /** The configuration of read-only connections as the metastore's role. */
  readerOf(accountId: number, password: Secret): ClientConfig {
    // JIT compilation would take longer than a hundred of our lookups.
    const options = `${SESSION} -c default_transaction_read_only=on -c jit=off`;
    return { ...this.#asRole(this.#loginOf(accountId, password)), ...timeouts(STATEMENT_LIMIT_MS), options };
  }

  #loginOf(accountId: number, password: Secret): MetastoreLogin {
    const name = metastoreName(this.#server().product, accountId);
    const address = databaseAddress(this.#options.connection, this.#options.isEmbedded);
    return { address, database: name, user: name, password };
  }

  /** Connects to the embedded server by its socket: while it is down, other processes can take its port. */
  #asRole({ address, database, user, password }: MetastoreLogin): ClientConfig {
    const { host, port, ssl } = address;
    const tcp = this.#options.isEmbedded ? {} : { host, port, ssl };
    return { ...connectionFields(this.#options.connection), ...tcp, database, user, password: password.reveal() };
  }

  async #dropNamed(name: string): Promise<void> {
    await this.#connected({}, async (client) => {
      await lockName(client, name);
      await dropDatabaseAndRole(client, name);
    });
  }

  async #isReady(login: MetastoreLogin, product: string): Promise<boolean> {
    try {
      return await this.#connectedAs(login, async (client) => {
        if (await mayConnect(client, login.user, product)) return false;
        const limit = await readConnectionLimit(client, login.user);
        return limit >= MIN_PER_ROLE && limit <= MAX_PER_ROLE;
      });
    } catch (error) {
      if (isLoginRefused(error) || isOutOfConnections(error) || errorCode(error) === NO_DATABASE) return false;
      throw unreachable(login, error);
    }
  }

  async #assertLogin(login: MetastoreLogin): Promise<void> {
    try {
      await this.#connectedAs(login, () => Promise.resolve());
    } catch (error) {
      throw unreachable(login, error);
    }
  }

  #connectedAs<T>(login: MetastoreLogin, work: (client: Client) => Promise<T>): Promise<T> {
    const { host, port } = login.address;
    const { config, isAsked } = watchLogin({ ...this.#asRole(login), options: SESSION }, login.password.reveal());
    return this.#connected(config, async (client) => {
      if (isAsked()) return work(client);
      const problem = await trustProblem(client);
      throw new Fault("invalid", `The catalog of tables is refused: PostgreSQL at ${host}:${port} ${problem}`);
    });
  }

  async #create(accountId: number, name: string, password: Secret): Promise<void> {
    try {
      await this.#connected({}, async (client) => {
        await lockName(client, name);
        await assertRights(client);
        await createOrAlterRole(client, name, scramVerifier(password));
        await this.#fitLimits(client, accountId);
        await this.#closeProductDatabase(client, name);
        await createDatabase(client, name);
        await this.#connected({ database: name }, (inside) => grantSchema(inside, name));
        await grantConnect(client, name);
      });
    } catch (error) {
      if (error instanceof Fault || isStoreUnavailable(error)) throw storeFault(error);
      const why = error instanceof Error ? error.message : String(error);
      throw new Fault("unavailable", `The catalog of tables cannot be created on this PostgreSQL: ${why}.`, {
        cause: error,
      });
    }
  }

  async #fitLimits(client: Client, wanted?: number): Promise<void> {
    const { product } = this.#server();
    await fitConnectionLimits(client, {
      prefix: metastorePrefix(product),
      inUse: (this.#options.accountsInUse?.() ?? []).map((accountId) => metastoreName(product, accountId)),
      wanted: wanted === undefined ? undefined : metastoreName(product, wanted),
      idleRoles: this.#idleRoles,
    });
  }

  /** The role must not connect to the product's database, which PostgreSQL allows to every role by default. */
  async #closeProductDatabase(client: Client, role: string): Promise<void> {
    const { product, user } = this.#server();
    if (!(await mayConnect(client, role, product))) return;
    await revokePublicConnect(client, product);
    if (!(await mayConnect(client, role, product))) return;
    const [database, login] = [client.escapeIdentifier(product), client.escapeIdentifier(user)];
    throw new Fault(
      "invalid",
      `The catalog of tables creates a role for each account, but every role may connect to the database ` +
        `${product} of DATABASE_URL. Run as its owner: grant connect on database ${database} to ${login}; ` +
        `revoke connect on database ${database} from public;`,
    );
  }

  #server(): { product: string; user: string } {
    const { database = "", user = "" } = new Client(this.#options.connection);
    return { product: database, user };
  }

  async #connected<T>(other: ClientConfig, work: (client: Client) => Promise<T>): Promise<T> {
    const client = await openClient({ ...connectionFields(this.#options.connection), ...other });
    try {
      return await work(client);
    } finally {
      await client.end().catch(() => undefined);
    }
  }
}

async function assertRights(client: Client): Promise<void> {
  const { login, mayCreateDatabases, mayCreateRoles } = await readRights(client);
  const missing = [...(mayCreateDatabases ? [] : ["createdb"]), ...(mayCreateRoles ? [] : ["createrole"])];
  if (missing.length === 0) return;
  const things = [...(mayCreateDatabases ? [] : ["databases"]), ...(mayCreateRoles ? [] : ["roles"])].join(" and ");
  throw new Fault(
    "invalid",
    `The catalog of tables needs a database and a role for each account, but the user ${login} of DATABASE_URL may not ` +
      `create ${things}. Run as a superuser: alter role ${client.escapeIdentifier(login)} ${missing.join(" ")};`,
  );
}

function unreachable({ address: { host, port }, database, user }: MetastoreLogin, cause: unknown): Fault {
  if (cause instanceof Fault) return cause;
  return new Fault(
    "unavailable",
    `The catalog of tables cannot be reached: user ${user}, database ${database} at ${host}:${port}: ${adviceFor(cause)}.`,
    { cause },
  );
}
