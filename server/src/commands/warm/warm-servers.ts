/**
 * The warm servers of this node: one for each account, cluster and app that has run SQL lately. Each is shaped by the
 * contributions to its place; when they change, the next command gets a new one and the old one ends after its last
 * command. They outlive us, and are found again (`server-processes.ts`).
 *
 *   starting ──▶ up ──▶ draining ──▶ gone
 *       │         │                    ▲
 *       └─────────┴── died, evicted ───┘
 */
import { contributionDigest, type Contribution } from "../../engines/spark-home/contribution.ts";
import type { LookTimes } from "../../lib/answering.ts";
import { RemoteClusters, type ClusterOf } from "./remote-clusters.ts";
import { configuredMemoryMiB } from "./server-memory.ts";
import { ServerProcesses, type OpenedServer, type ServerProcessesOptions } from "./server-processes.ts";
import { isRemoteServerName, remoteServerName } from "./server-record.ts";
import { placeKey, type ContributionsOf, type PlacedProcess, type SparkPlace } from "./spark-place.ts";
import { WarmServer } from "./warm-server.ts";

export interface WarmServersOptions extends ServerProcessesOptions {
  readonly contributionsOf: ContributionsOf;
  readonly clusterOf: ClusterOf;
  readonly looks?: LookTimes;
}

export class WarmServers {
  readonly #options: WarmServersOptions;
  readonly #processes: ServerProcesses;
  readonly #servers = new Map<string, WarmServer>();
  /** What the place's last server took, by place: the next one takes as much. */
  readonly #lastMemoryMiB = new Map<string, number>();
  readonly #remoteClusters: RemoteClusters;

  constructor(options: WarmServersOptions) {
    this.#options = options;
    this.#processes = new ServerProcesses(options);
    this.#remoteClusters = new RemoteClusters(options.clusterOf);
  }

  /** Takes over the servers that were left running, and removes what is left of those that have ended. */
  async adopt(): Promise<void> {
    for (const found of await this.#processes.findRunning()) this.#add(found);
  }

  /** The server of a place as its contributions are now, started when there is none. It is held for the caller. */
  async acquire(place: SparkPlace): Promise<{ server: WarmServer; release: () => void }> {
    const contribution = await this.#options.contributionsOf(place);
    const digest = contributionDigest(contribution);
    for (const each of this.#of(place)) if (each.record.digest !== digest) this.#drain(each);
    for (;;) {
      const there = this.#of(place).find(({ record }) => record.digest === digest);
      const server = there ?? this.#open(place, contribution, digest);
      // Of one that has just died nobody may have heard yet.
      const isGood = !server.isUp || (await server.process.isAlive());
      if (isGood && !server.isDraining) return { server, release: this.#hold(server) };
      if (!isGood) void this.#end(server);
    }
  }

  /** One of before, by its name; undefined: it is gone. */
  async reacquire(name: string, place: SparkPlace): Promise<{ server: WarmServer; release: () => void } | undefined> {
    const server = this.#servers.get(name) ?? (await this.#findRemote(name, place));
    return server === undefined ? undefined : { server, release: this.#hold(server) };
  }

  /** Somebody else's server outlives us without leaving a folder here. */
  async #findRemote(name: string, place: SparkPlace): Promise<WarmServer | undefined> {
    if (!isRemoteServerName(name)) return undefined;
    const contribution = await this.#options.contributionsOf(place);
    const digest = contributionDigest(contribution);
    if (remoteServerName(place, digest) !== name) return undefined;
    return this.#servers.get(name) ?? this.#open(place, contribution, digest);
  }

  /** Starts one that nobody needs yet. */
  async startAhead(place: SparkPlace): Promise<void> {
    const { release } = await this.acquire(place);
    release();
  }

  /** The servers that answer, start or drain. */
  list(): (PlacedProcess & { readonly isUp: boolean })[] {
    return [...this.#servers.values()].map((server) => ({ ...placedProcess(server), isUp: server.isUp }));
  }

  /** Whose servers run here, or are being started. */
  accounts(): number[] {
    const ours = [...this.#servers.values()].filter(({ isRemote }) => !isRemote);
    return ours.map(({ record }) => record.place.accountId);
  }

  /** What a command of the place needs for a server of its own; nothing where one is, or is somebody else's. */
  costMiB(place: SparkPlace, heap: string | null = null): number {
    if (this.#of(place).length > 0 || this.#remoteClusters.has(place)) return 0;
    return this.#lastMemoryMiB.get(placeKey(place)) ?? configuredMemoryMiB(heap);
  }

  /** Whether queries of the cluster go to somebody else's server, as far as it is known: else it is found out. */
  isRemote(cluster: Pick<SparkPlace, "accountId" | "clusterId">): boolean {
    const isKnown = this.#remoteClusters.has(cluster);
    if (!isKnown) this.#remoteClusters.findOut(cluster);
    return isKnown;
  }

  /** What the servers that run queries take, by account. */
  inUseMiB(): Map<number, number> {
    const inUse = new Map<number, number>();
    for (const { isIdle, record } of this.#servers.values()) {
      const { accountId } = record.place;
      if (!isIdle) inUse.set(accountId, (inUse.get(accountId) ?? 0) + record.memoryMiB);
    }
    return inUse;
  }

  /** What the servers take of the node's memory. */
  reservedMiB(): number {
    return [...this.#servers.values()].reduce((sum, { record }) => sum + record.memoryMiB, 0);
  }

  /** Ends servers that nobody uses, the longest unused first, until so much memory is free or none is left. */
  evict(neededMiB: number): void {
    let freed = 0;
    const idle = [...this.#servers.values()].filter(({ isIdle, isRemote }) => isIdle && !isRemote);
    for (const server of idle.toSorted((one, other) => other.idleMs - one.idleMs)) {
      if (freed >= neededMiB) return;
      freed += server.record.memoryMiB;
      void this.#end(server);
    }
  }

  /** Gives them up; they run on for whoever comes next. */
  async close(): Promise<void> {
    await Promise.all([...this.#servers.values()].map((server) => server.close()));
    this.#servers.clear();
  }

  /** Ends those that match, in use or not. */
  async stop(matches: (place: SparkPlace, generation: number) => boolean = () => true): Promise<void> {
    const found = [...this.#servers.values()].filter((server) => {
      const { place, generation } = placedProcess(server);
      return matches(place, generation);
    });
    await Promise.all(found.map((server) => this.#end(server)));
  }

  /**
   * Begins to look for those that are used, live and do not answer, and ends them: who waits for them gets to know, and
   * the next gets another. Who looks already looks on.
   */
  endSilent(): void {
    const used = [...this.#servers.values()].filter(({ isUp, isIdle, isRemote }) => isUp && !isIdle && !isRemote);
    for (const server of used) {
      void server.isSilent().then((isSilent) => {
        if (!isSilent || server.gone.aborted) return;
        this.#options.log.warn({ place: server.record.place }, "a warm server does not answer; it ends");
        void this.#end(server);
      });
    }
  }

  unusedPlaces(): SparkPlace[] {
    return this.#unused().map(({ record }) => record.place);
  }

  /** Ends those that match and that no command uses. */
  async endUnused(matches: (place: SparkPlace) => boolean): Promise<void> {
    const found = this.#unused().filter(({ record }) => matches(record.place));
    await Promise.all(found.map((server) => this.#end(server)));
  }

  #unused(): WarmServer[] {
    return [...this.#servers.values()].filter(({ isIdle }) => isIdle);
  }

  /** More than one only after a restart while one was being replaced. */
  #of(place: SparkPlace): WarmServer[] {
    const key = placeKey(place);
    return [...this.#servers.values()].filter((each) => !each.isDraining && placeKey(each.record.place) === key);
  }

  #open(place: SparkPlace, contribution: Contribution, digest: string): WarmServer {
    return this.#add(this.#processes.open(place, contribution, digest));
  }

  #add({ name, record, process, started }: OpenedServer): WarmServer {
    const { looks, log } = this.#options;
    const server = new WarmServer(name, record, process, { started, looks, log });
    this.#servers.set(name, server);
    this.#lastMemoryMiB.set(placeKey(record.place), record.memoryMiB);
    this.#remoteClusters.learn(record.place, server.isRemote);
    server.ready.then(
      () => this.#settleIn(server),
      (error: unknown) => {
        if (server.gone.aborted) return;
        log.warn({ err: error, place: record.place }, "a warm server did not come up");
        void this.#end(server);
      },
    );
    const died = async (): Promise<void> => {
      await started;
      await process.ended(server.gone);
      if (server.gone.aborted) return; // we let go of it; it runs on
      await server.ready; // fails with the reason where it never was
      await this.#end(server);
    };
    died().catch(() => undefined);
    return server;
  }

  /** Nobody waits for it: then it gets to know its classes before somebody does. */
  async #settleIn(server: WarmServer): Promise<void> {
    try {
      if (server.isIdle) await server.warmUp();
      await server.makeSessions();
    } catch (error) {
      this.#options.log.debug({ err: error }, "a warm server was not warmed up");
    }
  }

  #hold(server: WarmServer): () => void {
    const release = server.use();
    return () => {
      release();
      if (!server.isIdle) return;
      if (server.isDraining) void this.#end(server);
      else server.makeSessions().catch(() => undefined);
    };
  }

  #drain(server: WarmServer): void {
    server.isDraining = true;
    if (server.isIdle) void this.#end(server);
  }

  async #end(server: WarmServer): Promise<void> {
    this.#servers.delete(server.name);
    try {
      await server.stop();
    } catch (error) {
      this.#options.log.warn({ err: error, place: server.record.place }, "a warm server could not be ended");
    }
  }
}

function placedProcess({ record: { place, generation = 0 } }: WarmServer): PlacedProcess {
  return { place, generation };
}
