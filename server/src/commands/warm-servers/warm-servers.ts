/**
 * The warm servers of this node: one for each scope (account, cluster and app) that has run SQL recently. A server is
 * configured by the contributions to its scope. When they change, the next command gets a new server, and the old one
 * ends after its last command. Warm servers outlive Headgate and are found again (`server-processes.ts`).
 */
import { contributionDigest, type Contribution } from "../../engines/spark-home/contribution.ts";
import { Supervisor } from "../../processes/supervisor/supervisor.ts";
import type { ProbeTimes } from "../../lib/liveness-probe.ts";
import {
  configuredMemoryMiB,
  ServerProcesses,
  type OpenedServer,
  type ServerProcessesOptions,
} from "./server-processes.ts";
import { isRemoteServerName, remoteServerName } from "./server-record.ts";
import { scopeKey, type ContributionsOf, type ScopedProcess, type SparkScope } from "../execution/spark-scope.ts";
import { WarmServer } from "./warm-server.ts";

export interface WarmServersOptions extends ServerProcessesOptions {
  readonly contributionsOf: ContributionsOf;
  readonly clusterOf: ClusterOf;
  readonly probes?: ProbeTimes;
}

export interface HeldServer {
  readonly server: WarmServer;
  readonly release: () => void;
}

export class WarmServers {
  readonly #options: WarmServersOptions;
  readonly #processes: ServerProcesses;
  readonly #supervisor: Supervisor<SparkScope, WarmServer>;
  /** The memory of the last server, by scope: the next one needs as much. */
  readonly #lastMemoryMiB = new Map<string, number>();
  readonly #remoteClusters: RemoteClusters;

  constructor(options: WarmServersOptions) {
    this.#options = options;
    this.#processes = new ServerProcesses(options);
    this.#remoteClusters = new RemoteClusters(options.clusterOf);
    this.#supervisor = new Supervisor({
      keyText: scopeKey,
      name: "a warm server",
      describe: ({ key: scope }) => ({ place: scope }),
      log: options.log,
      onReady: (server) => this.#settleIn(server),
      onIdle: (server) => void server.prepareNext().catch(() => undefined),
    });
  }

  /** Takes over the servers that were left running, and removes what is left of those that have ended. */
  async recover(): Promise<void> {
    await this.#processes.recover((found) => this.#add(found));
  }

  /** Returns a server with the current contributions to the scope, starts it if needed, and holds it for the caller. */
  async acquire(scope: SparkScope, onWait?: (text: string) => void): Promise<HeldServer> {
    const contribution = await this.#options.contributionsOf(scope, onWait);
    const digest = contributionDigest(contribution);
    this.#supervisor.drainOthers(scope, digest);
    for (;;) {
      const server = this.#supervisor.find(scope, digest) ?? this.#open(scope, contribution, digest);
      // The supervisor may not have noticed a recent death yet.
      const isGood = !server.isUp || (await server.process.isAlive());
      if (isGood && server.isAvailable) return this.#hold(server);
      if (!isGood) void this.#supervisor.end(server);
    }
  }

  /** A server that the previous Headgate had acquired, by its name; undefined: it is gone. */
  async reacquire(name: string, scope: SparkScope): Promise<HeldServer | undefined> {
    const found = this.#named(name) ?? (await this.#findRemote(name, scope));
    return found && this.#hold(found);
  }

  /** A remote server has no folder here, but may still have the session. */
  async #findRemote(name: string, scope: SparkScope): Promise<WarmServer | undefined> {
    if (!isRemoteServerName(name)) return undefined;
    const contribution = await this.#options.contributionsOf(scope);
    const digest = contributionDigest(contribution);
    if (remoteServerName(scope, digest) !== name) return undefined;
    return this.#named(name) ?? this.#open(scope, contribution, digest);
  }

  /** Starts one before a command needs it. */
  async startAhead(scope: SparkScope): Promise<void> {
    const { release } = await this.acquire(scope);
    release();
  }

  /** The servers that answer, start or drain. */
  list(): (ScopedProcess & { readonly isUp: boolean })[] {
    return this.#supervisor.list().map(({ key: scope, generation, isUp }) => ({ scope, generation, isUp }));
  }

  /** The accounts of the local servers that run or start. */
  accounts(): number[] {
    const ours = this.#supervisor.list().filter(({ isRemote }) => !isRemote);
    return ours.map(({ key }) => key.accountId);
  }

  /** The memory that a command of the scope needs for a server: 0 if one runs already or is remote. */
  costMiB(scope: SparkScope, heap: string | null = null): number {
    if (this.#supervisor.of(scope).length > 0 || this.#remoteClusters.has(scope)) return 0;
    return this.#lastMemoryMiB.get(scopeKey(scope)) ?? configuredMemoryMiB(heap);
  }

  /** Whether the cluster is known to be a remote server. If not, it is read in the background. */
  isRemote(cluster: Pick<SparkScope, "accountId" | "clusterId">): boolean {
    const isKnown = this.#remoteClusters.has(cluster);
    if (!isKnown) this.#remoteClusters.findOut(cluster);
    return isKnown;
  }

  /** The memory of the servers that run queries, by account. */
  inUseMiB(): Map<number, number> {
    const inUse = new Map<number, number>();
    for (const { isIdle, key, memoryMiB } of this.#supervisor.list()) {
      if (!isIdle) inUse.set(key.accountId, (inUse.get(key.accountId) ?? 0) + memoryMiB);
    }
    return inUse;
  }

  reservedMiB(): number {
    return this.#supervisor.reservedMiB();
  }

  evict(neededMiB: number): void {
    this.#supervisor.evict(neededMiB);
  }

  /** Leaves the servers running, for the next Headgate. */
  close(): Promise<void> {
    return this.#supervisor.close();
  }

  /** Ends those that match, in use or not. */
  stop(matches: (scope: SparkScope, generation: number) => boolean = () => true): Promise<void> {
    return this.#supervisor.stop(({ key, generation }) => matches(key, generation));
  }

  /** Ends used servers that live but do not answer. Their commands fail, and later ones get a new server. */
  endSilent(): void {
    this.#supervisor.endSilent(({ isUp, isIdle, isRemote }) => isUp && !isIdle && !isRemote);
  }

  unusedScopes(): SparkScope[] {
    return this.#supervisor.list().flatMap(({ isIdle, key }) => (isIdle ? [key] : []));
  }

  /** Ends those that match and that no command uses. */
  endUnused(matches: (scope: SparkScope) => boolean): Promise<void> {
    return this.#supervisor.stop(({ isIdle, key }) => isIdle && matches(key));
  }

  #named(name: string): WarmServer | undefined {
    return this.#supervisor.list().find((each) => each.name === name);
  }

  #hold(server: WarmServer): HeldServer {
    return { server, release: this.#supervisor.hold(server) };
  }

  #open(scope: SparkScope, contribution: Contribution, digest: string): WarmServer {
    return this.#add(this.#processes.open(scope, contribution, digest));
  }

  #add(opened: OpenedServer): WarmServer {
    const server = this.#supervisor.add(new WarmServer(opened, this.#options));
    this.#lastMemoryMiB.set(scopeKey(server.key), server.memoryMiB);
    this.#remoteClusters.learn(server.key, server.isRemote);
    return server;
  }

  /** Loads the classes of a first statement while no command waits for the server. */
  async #settleIn(server: WarmServer): Promise<void> {
    try {
      if (server.isIdle) await server.warmUp();
      await server.prepareNext();
    } catch (error) {
      this.#options.log.debug({ err: error }, "a warm server was not warmed up");
    }
  }
}

type Cluster = Pick<SparkScope, "accountId" | "clusterId">;

/** The contribution of the cluster alone. Unlike all contributions, reading it starts no metastore. */
type ClusterOf = (accountId: number, clusterId: number) => Promise<Partial<Contribution>>;

/** Remembers which clusters are remote servers. */
class RemoteClusters {
  readonly #clusterOf: ClusterOf;
  readonly #known = new Set<string>();
  readonly #asked = new Set<string>();

  constructor(clusterOf: ClusterOf) {
    this.#clusterOf = clusterOf;
  }

  has(cluster: Cluster): boolean {
    return this.#known.has(clusterKey(cluster));
  }

  learn(cluster: Cluster, isRemote: boolean): void {
    if (isRemote) this.#known.add(clusterKey(cluster));
    else this.#known.delete(clusterKey(cluster));
  }

  /** Reads the cluster in the background, for the next call of `has`. */
  findOut(cluster: Cluster): void {
    const key = clusterKey(cluster);
    if (this.#asked.has(key)) return;
    this.#asked.add(key);
    this.#clusterOf(cluster.accountId, cluster.clusterId)
      .then(({ remote }) => this.learn(cluster, remote !== undefined))
      .catch(() => undefined)
      .finally(() => this.#asked.delete(key));
  }
}

function clusterKey({ accountId, clusterId }: Cluster): string {
  return `${accountId}/${clusterId}`;
}
