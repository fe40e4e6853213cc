import { setTimeout as delay } from "node:timers/promises";
import type { Queryable } from "../../db/database.ts";
import {
  isEndingElsewhere,
  listUpElsewhere,
  readGenerations,
  reportAppServers,
  type AppServersOfNode,
} from "../store/app-servers.ts";
import type { ScopedProcess, SparkScope } from "../execution/spark-scope.ts";
import type { WarmServers } from "./warm-servers.ts";

type Matches = (scope: SparkScope, generation: number) => boolean;

export interface AppServersOptions {
  readonly db: Queryable;
  readonly nodeId: string;
  readonly servers: Pick<WarmServers, "list" | "stop">;
  /** The standby drivers of this node. */
  readonly standbys: { list(): ScopedProcess[]; endUnused(matches: Matches): Promise<void> };
  /** Nodes that count as dead: their last reports do not count. */
  readonly silentNodes: () => readonly string[];
  /** Makes all nodes check their servers. */
  readonly wakeNodes: () => void;
}

const STOP_PATIENCE_MS = 10_000;
const POLL_INTERVAL_MS = 100;

/**
 * The servers of apps on all nodes, with the database as the source of truth. A stop raises the generation of the app;
 * each node ends its servers and drivers of an earlier generation and reports the servers that are left. A dead node
 * reports nothing, so the rows of a node do not count while it is silent. When it comes back, it soon ends the servers that
 * were stopped meanwhile.
 */
export class AppServers {
  readonly #options: AppServersOptions;
  #running: Promise<void> = Promise.resolve();
  #queued: Promise<void> | undefined;
  /** How many apps the last report had; undefined: there was no report yet. */
  #reported: number | undefined;

  constructor(options: AppServersOptions) {
    this.#options = options;
  }

  async listUp(accountId: number, appIds: readonly number[]): Promise<ReadonlySet<number>> {
    const { db, servers } = this.#options;
    const here = servers.list().filter(({ scope, isUp }) => isUp && scope.accountId === accountId);
    const up = new Set(here.map(({ scope }) => scope.appId));
    const elsewhere = new Set(await listUpElsewhere(db, appIds, this.#leftOut()));
    return new Set(appIds.filter((id) => up.has(id) || elsewhere.has(id)));
  }

  /** Call it after the commit that has stopped or deleted the app. */
  async stop(appId: number): Promise<void> {
    const { db, wakeNodes } = this.#options;
    wakeNodes();
    await this.reconcile();
    const patience = AbortSignal.timeout(STOP_PATIENCE_MS);
    while (!patience.aborted && (await isEndingElsewhere(db, appId, this.#leftOut()))) await delay(POLL_INTERVAL_MS);
  }

  /**
   * Ends the servers of stopped apps and reports the rest. Runs periodically and at once when an app was stopped, never
   * twice at the same time.
   */
  reconcile(): Promise<void> {
    this.#queued ??= this.#running
      .catch(() => undefined) // its own caller gets the error
      .then(() => {
        this.#queued = undefined;
        this.#running = this.#endAndReport();
        return this.#running;
      });
    return this.#queued;
  }

  #leftOut(): readonly string[] {
    return [this.#options.nodeId, ...this.#options.silentNodes()];
  }

  async #endAndReport(): Promise<void> {
    const { db, nodeId, servers, standbys } = this.#options;
    const appIds = new Set([...servers.list(), ...standbys.list()].flatMap(({ scope: { appId } }) => appId ?? []));
    if (appIds.size > 0) {
      const generations = await readGenerations(db, [...appIds]);
      const isOver: Matches = ({ appId }, generation) =>
        appId !== null && appIds.has(appId) && generation < (generations.get(appId) ?? Infinity);
      await Promise.all([servers.stop(isOver), standbys.endUnused(isOver)]);
    }
    const left = byApp(servers.list());
    if (left.length === 0 && this.#reported === 0) return;
    await reportAppServers(db, nodeId, left);
    this.#reported = left.length;
  }
}

function byApp(servers: ReturnType<WarmServers["list"]>): AppServersOfNode[] {
  const apps = Map.groupBy(servers, ({ scope }) => scope.appId);
  return [...apps].flatMap(([appId, each]) =>
    appId === null
      ? []
      : {
          appId,
          generation: Math.min(...each.map(({ generation }) => generation)),
          isUp: each.some(({ isUp }) => isUp),
        },
  );
}
