/**
 * The composition root: only this file and those in `compose/` construct things. `startApp` needs a migrated
 * database and returns a listening server. `start.ts` decides which database that is; tests pass in their own.
 */
import type { AppControl } from "./apps/app-control.ts";
import type { ClusterControl } from "./clusters/control.ts";
import type { ProgramDriver } from "./commands/programs/program-driver.ts";
import { composeCopies } from "./compose/copies.ts";
import { composeFiles } from "./compose/files.ts";
import { composeKinds, type ListKinds } from "./compose/kinds.ts";
import { composeNode, type NodeOptions } from "./compose/node.ts";
import { composeQueue, type QueueParts } from "./compose/queue.ts";
import { composeServer, proxySocketOf, readinessParts } from "./compose/server.ts";
import { composeServices, type Services } from "./compose/services.ts";
import { composeSparks, type Sparks } from "./compose/sparks.ts";
import { composeTasks } from "./compose/tasks.ts";
import type { ShowProgress } from "./processes/set-up/set-up-step.ts";
import { listen, type Listening, type ListeningSocket } from "./http/listen.ts";
import { runPeriodically } from "./lib/periodic.ts";

export interface App {
  url: string;
  /** The addresses of all listening sockets. */
  socketUrls: readonly string[];
  services: Services;
  /**
   * Drains requests, then closes the database. When `hurry` is aborted, it no longer waits for clients. Programs, warm
   * servers and metastores keep running, unless `everything` is set.
   */
  stop(hurry?: AbortSignal, options?: { everything?: boolean }): Promise<void>;
}

export interface AppOptions extends NodeOptions {
  /** Runs programs in place of Spark's driver. */
  driver?: ProgramDriver;
  /** The kinds of commands that the server runs; by default all that this version knows. */
  commandKinds?: ListKinds;
  /** Starts and ends clusters, in place of the product's own control. */
  clusterControl?: ClusterControl;
  /** Replaces the warm servers of apps. */
  appControl?: AppControl;
  /** Shows the progress of Spark's set-up on a terminal. Undefined: the steps are logged. */
  showProgress?: ShowProgress | undefined;
  /** Whether Spark is located or installed in the background. Without Spark and without a driver, programs wait. */
  setsUpSpark?: boolean;
  /** Whether programs of different accounts are isolated from each other. */
  isIsolated?: boolean;
  /** Replaces the setting HEADGATE_ORPHAN_MINUTES. */
  orphanSeconds?: number;
  /** Whether the embedded PostgreSQL is up, where there is one. */
  storeHealthy?: () => boolean;
  /** The sockets to listen on, instead of the configured host and port. */
  sockets?: readonly ListeningSocket[] | undefined;
  /** Aborts the start. */
  signal?: AbortSignal;
}

export async function startApp(options: AppOptions): Promise<App> {
  const held = new AsyncDisposableStack();
  try {
    return await compose(options, held);
  } catch (error) {
    // A failed start leaves nothing open.
    await held.disposeAsync();
    throw error;
  }
}

/** `held` closes the parts in the reverse of the order in which they were opened. */
async function compose(options: AppOptions, held: AsyncDisposableStack): Promise<App> {
  const { setsUpSpark = false } = options;
  const node = await composeNode(options, held);
  const sparks = await composeSparks({ ...options, ...node, db: node.background, setsUpSpark }, held);
  const copies = composeCopies(node, sparks, held);
  const kinds = composeKinds(node, sparks, copies, options.commandKinds, held);
  const work = composeQueue(node, sparks, kinds, options.clusterControl, held);
  const files = await composeFiles(node, work);
  const { appControl } = options;
  const services = composeServices(node, sparks, kinds, work, { appControl, accountFiles: files.files }, held);
  const readiness = readinessParts(node, sparks, work.queue, options.storeHealthy);
  const server = await composeServer(node, services, readiness);
  await node.timelineWatch.check(); // before the first id is given out
  await node.nodeWatch.update(); // submissions are checked against the budgets of all nodes
  const listening = await listen(server, {
    ...node.config,
    sockets: options.sockets,
    proxySocket: proxySocketOf(node.config),
  });
  work.queue.start();
  sparks.python?.start(() => work.queue.running().length > 0);
  const tasks = runPeriodically(
    composeTasks(node, sparks, copies, work, { ...services, ...files }, listening.url),
    node.log,
  );
  held.defer(() => tasks.stop());
  const release = held.move();

  return {
    url: listening.url,
    socketUrls: listening.socketUrls,
    services,
    stop: (hurry, { everything = false } = {}) =>
      stopApp({ services, work, listening, sparks, release }, hurry, everything),
  };
}

interface StoppedParts {
  readonly services: Services;
  readonly work: QueueParts;
  readonly listening: Listening;
  readonly sparks: Sparks;
  readonly release: AsyncDisposableStack;
}

async function stopApp(parts: StoppedParts, hurry: AbortSignal | undefined, everything: boolean): Promise<void> {
  const { services, work, listening, sparks, release } = parts;
  work.events.endWaits();
  const published = services.publisher.stop();
  await listening.drain(hurry);
  await published;
  if (everything) {
    await work.queue.stop({ endsRuns: true });
    await sparks.stop();
    await work.tendApps(); // reports to the other nodes that no server is left here
  }
  await release.disposeAsync();
}
