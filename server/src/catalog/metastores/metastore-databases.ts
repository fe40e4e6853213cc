/**
 * The databases of the metastores, one for each account that has used Spark, on the product's own PostgreSQL: the tables
 * of a metastore have fixed names and know of no other catalog beside them. Into each may but one role, and that role
 * may nothing else: what it is given to is a process of its account.
 *
 * The role owns the tables, and so an account decides what runs when they are read or written: a trigger, a view over a
 * function. We therefore log in as that role, too, by its own password. A session of the product's user that has only
 * switched its role would not do: whatever runs in it can switch back.
 */
import { Client, type ClientConfig } from "pg";
import { errorCode } from "../../db/error-code.ts";
import { cureOf } from "../../db/external-store.ts";
import { scramVerifier } from "../../db/scram-verifier.ts";
import { isStoreAway, storeFault } from "../../db/store-fault.ts";
import { atOnce } from "../../lib/at-once.ts";
import { Fault } from "../../lib/fault.ts";
import type { Secret } from "../../lib/secret.ts";
import { boundAnswers } from "./bounded-answers.ts";
import { databaseAddress, type DatabaseAddress } from "./database-address.ts";
import { fitConnectionLimits } from "./fit-connection-limits.ts";
import { metastoreName, metastorePrefix } from "./metastore-names.ts";
import {
  explicit,
  isLoginRefused,
  isOutOfConnections,
  limited,
  NO_DATABASE,
  opened,
  STATEMENT_LIMIT_MS,
} from "./open-connection.ts";
import { RestedRoles } from "./rested-roles.ts";
import { ENOUGH_PER_ROLE, MOST_PER_ROLE } from "./role-connections.ts";
import {
  closeToPublic,
  dropDatabaseAndRole,
  isMade,
  letIn,
  listMade,
  listOrphans,
  lockName,
  makeDatabase,
  makeRole,
  mayConnect,
  openSchema,
  readRights,
} from "./store/metastore-database.ts";
import { readConnectionLimit } from "./store/role-connections.ts";

export interface MetastoreDatabasesOptions {
  readonly connection: ClientConfig;
  readonly isEmbedded: boolean;
  /** Those with a metastore on this node. They keep their connections where there are too few for all accounts. */
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

/** Of our sessions: the built-in names, the metastore's tables, and nothing else that an account's role may have set. */
const SESSION = "-c search_path=public,pg_temp";

export class MetastoreDatabases {
  readonly #options: MetastoreDatabasesOptions;
  readonly #makingRoom = new Map<number, Promise<void>>();
  readonly #oneByOne = atOnce(1);
  readonly #rested: RestedRoles;

  constructor(options: MetastoreDatabasesOptions) {
    this.#options = options;
    this.#rested = new RestedRoles(options.now ?? (() => performance.now()));
  }

  /** A login that works, whatever was there before. */
  async provide(accountId: number, password: Secret): Promise<MetastoreLogin> {
    const { product } = this.#server();
    const login = this.#loginOf(accountId, password);
    if (await this.#isReady(login, product)) return login;
    await this.#make(accountId, login.database, password);
    await this.#assertEnters(login);
    return login;
  }

  async drop(accountId: number): Promise<void> {
    await this.#dropNamed(metastoreName(this.#server().product, accountId));
  }

  /** Of accounts that are gone, up to so many; tells how many there were. */
  async dropOrphans(limit: number): Promise<number> {
    const prefix = metastorePrefix(this.#server().product);
    const names = await this.#connected({}, (client) => listOrphans(client, prefix, limit));
    for (const name of names) await this.#dropNamed(name);
    return names.length;
  }

  /** For roles of an earlier version, and for a server whose settings have changed or whose metastores come and go. */
  async fitConnectionLimits(): Promise<void> {
    await this.#connected({}, (client) => this.#fitLimits(client));
  }

  /**
   * The metastore's role may connect again if it has lost its connections while it was not used. One after the other, and
   * once for concurrent callers: a role that holds all that it may have must not make us take connections.
   */
  makeRoom(accountId: number): Promise<void> {
    const fit = (): Promise<void> => this.#connected({}, (client) => this.#fitLimits(client, accountId));
    const making =
      this.#makingRoom.get(accountId) ?? this.#oneByOne(fit).finally(() => this.#makingRoom.delete(accountId));
    this.#makingRoom.set(accountId, making);
    return making;
  }

  /** Of the accounts that have one, as their ids. */
  async list(): Promise<number[]> {
    const prefix = metastorePrefix(this.#server().product);
    return this.#connected({}, (client) => listMade(client, prefix));
  }

  /** Makes the login into a database that is there what it should be. False: there is none. */
  async mend(accountId: number, password: Secret): Promise<boolean> {
    const name = metastoreName(this.#server().product, accountId);
    if (!(await this.#connected({}, (client) => isMade(client, name)))) return false;
    await this.provide(accountId, password);
    return true;
  }

  /** Into it as its role. The caller ends the connection. No limit, nor one of answers, is for who reads all there is. */
  async connect(
    accountId: number,
    password: Secret,
    { limitMs = WRITE_LIMIT_MS }: { limitMs?: number | null } = {},
  ): Promise<Client> {
    const config = { ...this.#asRole(this.#loginOf(accountId, password)), ...limited(limitMs), options: SESSION };
    const client = await opened(config).catch(async (error: unknown) => {
      if (isOutOfConnections(error)) await this.makeRoom(accountId);
      else if (!isLoginRefused(error) || !(await this.mend(accountId, password))) throw error;
      return opened(config);
    });
    if (limitMs !== null) boundAnswers(client);
    return client;
  }

  /** Into it as its role, and to read alone. */
  readerOf(accountId: number, password: Secret): ClientConfig {
    // Our statements are lookups; compiling one would take longer than a hundred of them.
    const options = `${SESSION} -c default_transaction_read_only=on -c jit=off`;
    return { ...this.#asRole(this.#loginOf(accountId, password)), ...limited(STATEMENT_LIMIT_MS), options };
  }

  #loginOf(accountId: number, password: Secret): MetastoreLogin {
    const name = metastoreName(this.#server().product, accountId);
    const address = databaseAddress(this.#options.connection, this.#options.isEmbedded);
    return { address, database: name, user: name, password };
  }

  /** As the metastore connects, but to the embedded server by its socket: others can take its port while it is down. */
  #asRole({ address, database, user, password }: MetastoreLogin): ClientConfig {
    const { host, port, ssl } = address;
    const place = this.#options.isEmbedded ? {} : { host, port, ssl };
    return { ...explicit(this.#options.connection), ...place, database, user, password: password.reveal() };
  }

  async #dropNamed(name: string): Promise<void> {
    await this.#connected({}, async (client) => {
      await lockName(client, name);
      await dropDatabaseAndRole(client, name);
    });
  }

  async #isReady(login: MetastoreLogin, product: string): Promise<boolean> {
    try {
      return await this.#entered(login, async (client) => {
        if (await mayConnect(client, login.user, product)) return false;
        const limit = await readConnectionLimit(client, login.user);
        return limit >= ENOUGH_PER_ROLE && limit <= MOST_PER_ROLE;
      });
    } catch (error) {
      if (isLoginRefused(error) || isOutOfConnections(error) || errorCode(error) === NO_DATABASE) return false;
      throw unreachable(login, error);
    }
  }

  async #assertEnters(login: MetastoreLogin): Promise<void> {
    try {
      await this.#entered(login, () => Promise.resolve());
    } catch (error) {
      throw unreachable(login, error);
    }
  }

  #entered<T>(login: MetastoreLogin, work: (client: Client) => Promise<T>): Promise<T> {
    return this.#connected({ ...this.#asRole(login), options: SESSION }, work);
  }

  async #make(accountId: number, name: string, password: Secret): Promise<void> {
    try {
      await this.#connected({}, async (client) => {
        await lockName(client, name);
        await assertRights(client);
        await makeRole(client, name, scramVerifier(password));
        await this.#fitLimits(client, accountId);
        await this.#closeProduct(client, name);
        await makeDatabase(client, name);
        await this.#connected({ database: name }, (inside) => openSchema(inside, name));
        await letIn(client, name);
      });
    } catch (error) {
      if (error instanceof Fault || isStoreAway(error)) throw storeFault(error);
      const why = error instanceof Error ? error.message : String(error);
      throw new Fault("unavailable", `The catalog of tables cannot be made on this PostgreSQL: ${why}.`, {
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
      rested: this.#rested,
    });
  }

  /** The role must not get near the product's tables, whatever the server lets everybody do by default. */
  async #closeProduct(client: Client, role: string): Promise<void> {
    const { product, user } = this.#server();
    if (!(await mayConnect(client, role, product))) return;
    await closeToPublic(client, product);
    if (!(await mayConnect(client, role, product))) return;
    const [database, login] = [client.escapeIdentifier(product), client.escapeIdentifier(user)];
    throw new Fault(
      "invalid",
      `The catalog of tables gets a role of its own for each account, and every role may connect to the database ` +
        `${product} of DATABASE_URL. As its owner: grant connect on database ${database} to ${login}; ` +
        `revoke connect on database ${database} from public;`,
    );
  }

  #server(): { product: string; user: string } {
    const { database = "", user = "" } = new Client(this.#options.connection);
    return { product: database, user };
  }

  async #connected<T>(other: ClientConfig, work: (client: Client) => Promise<T>): Promise<T> {
    const client = await opened({ ...explicit(this.#options.connection), ...other });
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
    `The catalog of tables needs a database and a role for each account, and the user ${login} of DATABASE_URL may not ` +
      `create ${things}. As a superuser: alter role ${client.escapeIdentifier(login)} ${missing.join(" ")};`,
  );
}

function unreachable({ address: { host, port }, database, user }: MetastoreLogin, cause: unknown): Fault {
  return new Fault(
    "unavailable",
    `The catalog of tables cannot be reached: user ${user}, database ${database} at ${host}:${port}: ${cureOf(cause)}.`,
    { cause },
  );
}
