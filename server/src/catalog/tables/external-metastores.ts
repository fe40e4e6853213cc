import { LRUCache } from "lru-cache";
import type { HiveClient } from "../../engines/hive-thrift/hive-client.ts";
import { addressRefusal } from "../../lib/network-policy.ts";
import { MetastoreReads } from "./metastore-reads.ts";

const CLIENTS_AT_ONCE = 16;
/** Of one answer, as the client counts it. */
const ANSWER_BYTES = 64 * 1024 * 1024;
/** What `http:` takes without one, which is how the address is read. */
const DEFAULT_PORT = 80;

/** The clients of metastores that accounts have brought. */
export class ExternalMetastores {
  readonly #allowedNetworks: readonly string[];
  readonly #reads = new MetastoreReads();
  /** By account and address: what one account may reach is not known by another's. */
  readonly #clients = new LRUCache<string, HiveClient>({ max: CLIENTS_AT_ONCE, dispose: (client) => client.close() });

  constructor(allowedNetworks: readonly string[]) {
    this.#allowedNetworks = allowedNetworks;
  }

  /** Of several addresses of one metastore the first, as Spark takes them by default. */
  async of(accountId: number, uris: string): Promise<HiveClient> {
    // Loaded with the first use: most installations have no metastore of others.
    const { HiveClient: Client } = await import("../../engines/hive-thrift/hive-client.ts");
    const { host, port } = firstAddress(uris);
    const key = `${accountId} ${host}:${port}`;
    const client =
      this.#clients.get(key) ??
      new Client({
        host,
        port,
        user: `account${accountId}`,
        gate: this.#reads.of(accountId),
        budgetBytes: ANSWER_BYTES,
        checkAddress: (address) => addressRefusal(address, this.#allowedNetworks) ?? null,
      });
    this.#clients.set(key, client);
    return client;
  }

  close(): void {
    this.#clients.clear();
  }
}

function firstAddress(uris: string): { host: string; port: number } {
  const [first = ""] = uris.split(",", 1);
  const { hostname, port } = new URL(first.trim().replace(/^thrift:/i, "http:"));
  return { host: hostname.replace(/^\[(.*)\]$/, "$1"), port: port === "" ? DEFAULT_PORT : Number(port) };
}
