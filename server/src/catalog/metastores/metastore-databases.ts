/**
 * The databases of the metastores, one for each account that has used Spark, on the product's own PostgreSQL: the tables
 * of a metastore have fixed names and know of no other catalog beside them. Into each may but one role, and that role
 * may nothing else: what it is given to is a process of its account.
 */
import { Client, type ClientConfig } from "pg";
import { cureOf } from "../../db/external-store.ts";
import { scramVerifier } from "../../db/scram-verifier.ts";
import { isStoreAway, storeFault } from "../../db/store-fault.ts";
import { Fault } from "../../lib/fault.ts";
import type { Secret } from "../../lib/secret.ts";
import { databaseAddress, type DatabaseAddress } from "./database-address.ts";
import { metastoreName, metastorePrefix } from "./metastore-names.ts";
import {
  actAs,
  closeToPublic,
  codeOf,
  dropDatabaseAndRole,
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

export interface MetastoreDatabasesOptions {
  readonly connection: ClientConfig;
  readonly isEmbedded: boolean;
}

export interface MetastoreLogin {
  readonly address: DatabaseAddress;
  readonly database: string;
  readonly user: string;
  readonly password: Secret;
}

/** Of one role, from all nodes together. A metastore has a few; this is for one that has gone mad. */
const CONNECTIONS_PER_ROLE = 16;
const CONNECT_LIMIT_MS = 10_000;
const STATEMENT_LIMIT_MS = 60_000;

/** No database, a wrong password, a role that may not enter, no role: then it has to be made, or made again. */
const NOT_MADE = ["3D000", "28P01", "28000", "42501"];

export class MetastoreDatabases {
  readonly #options: MetastoreDatabasesOptions;

  constructor(options: MetastoreDatabasesOptions) {
    this.#options = options;
  }

  /** A login that works, whatever was there before. */
  async provide(accountId: number, password: Secret): Promise<MetastoreLogin> {
    const { product } = this.#server();
    const name = metastoreName(product, accountId);
    const address = databaseAddress(this.#options.connection, this.#options.isEmbedded);
    const login = { address, database: name, user: name, password };
    if (await this.#isReady(login, product)) return login;
    await this.#make(name, password);
    await this.#enter(login, product);
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

  /** Of the accounts that have one, as their ids. */
  async list(): Promise<number[]> {
    const prefix = metastorePrefix(this.#server().product);
    return this.#connected({}, (client) => listMade(client, prefix));
  }

  /** Into it, with the rights of its role. The caller ends the connection. */
  async connect(accountId: number): Promise<Client> {
    const name = metastoreName(this.#server().product, accountId);
    const client = new Client({ ...explicit(this.#options.connection), database: name, statement_timeout: false });
    client.on("error", () => undefined); // a lost connection shows at the next statement
    try {
      await client.connect();
      await actAs(client, name);
      return client;
    } catch (error) {
      await client.end().catch(() => undefined);
      throw error;
    }
  }

  /** Into it with the rights of its role, and to read alone. */
  readerOf(accountId: number): ClientConfig {
    const name = metastoreName(this.#server().product, accountId);
    // As PostgreSQL splits them: at blanks that no backslash stands before.
    const role = name.replaceAll(/([\\ ])/g, String.raw`\$1`);
    // Our statements are lookups; compiling one would take longer than a hundred of them.
    const options = `-c role=${role} -c default_transaction_read_only=on -c jit=off`;
    return { ...explicit(this.#options.connection), database: name, options };
  }

  async #dropNamed(name: string): Promise<void> {
    await this.#connected({}, async (client) => {
      await lockName(client, name);
      await dropDatabaseAndRole(client, name);
    });
  }

  async #isReady(login: MetastoreLogin, product: string): Promise<boolean> {
    try {
      return !(await this.#seesProduct(login, product));
    } catch (error) {
      if (NOT_MADE.includes(codeOf(error))) return false;
      throw unreachable(login, error);
    }
  }

  async #enter(login: MetastoreLogin, product: string): Promise<void> {
    try {
      await this.#seesProduct(login, product);
    } catch (error) {
      throw unreachable(login, error);
    }
  }

  /** As the metastore would connect. */
  async #seesProduct({ address, database, user, password }: MetastoreLogin, product: string): Promise<boolean> {
    const { host, port, ssl } = address;
    const config = { host, port, ssl, database, user, password: password.reveal() };
    return this.#connected(config, (client) => mayConnect(client, user, product));
  }

  async #make(name: string, password: Secret): Promise<void> {
    try {
      await this.#connected({}, async (client) => {
        await lockName(client, name);
        await assertRights(client);
        await makeRole(client, name, { verifier: scramVerifier(password), connections: CONNECTIONS_PER_ROLE });
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
    const client = new Client({ ...explicit(this.#options.connection), ...other });
    client.on("error", () => undefined); // a lost connection shows at the next statement
    try {
      await client.connect();
      return await work(client);
    } finally {
      await client.end().catch(() => undefined);
    }
  }
}

/** Part by part, as an address in one text does not let any of it be replaced. */
function explicit(connection: ClientConfig): ClientConfig {
  const { host, port, user, password, database, ssl } = new Client(connection);
  return {
    host,
    port,
    user,
    password,
    database,
    ssl,
    application_name: "headgate-catalog",
    connectionTimeoutMillis: CONNECT_LIMIT_MS,
    statement_timeout: STATEMENT_LIMIT_MS,
  };
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
