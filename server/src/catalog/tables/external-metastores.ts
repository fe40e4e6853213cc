import { LRUCache } from "lru-cache";
import type { HiveClient } from "../../engines/hive-thrift/hive-client.ts";
import { addressRefusal } from "../../lib/network-policy.ts";
import { MetastoreCallLimits } from "./metastore-call-limits.ts";

const MAX_CLIENTS = 16;
/** The limit of one answer, as the client counts it. */
const ANSWER_BYTES = 64 * 1024 * 1024;
/** The default port of `http:`, as which the address is parsed. */
const DEFAULT_PORT = 80;

/** The clients of the accounts' external metastores. */
export class ExternalMetastores {
  readonly #allowedNetworks: readonly string[];
  readonly #limits = new MetastoreCallLimits();
  /** By account and address: accounts never share a connection. */
  readonly #clients = new LRUCache<string, HiveClient>({ max: MAX_CLIENTS, dispose: (client) => client.close() });

  constructor(allowedNetworks: readonly string[]) {
    this.#allowedNetworks = allowedNetworks;
  }

  /** Uses the first of several addresses, as Spark does by default. */
  async of(accountId: number, uris: string): Promise<HiveClient> {
    // Loaded at first use: most installations have no external metastore.
    const { HiveClient: Client } = await import("../../engines/hive-thrift/hive-client.ts");
    const { host, port } = firstAddress(uris);
    const key = `${accountId} ${host}:${port}`;
    const client =
      this.#clients.get(key) ??
      new Client({
        host,
        port,
        user: `account${accountId}`,
        gate: this.#limits.of(accountId),
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
