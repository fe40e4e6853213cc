import type { RunningServer } from "../../engines/connect-server/connect-server.ts";
import type { ConnectChannel } from "../../engines/spark-connect/spark-connect.ts";
import type { ConnectSession } from "../../engines/spark-connect/connect-session.ts";
import { Supervised } from "../../processes/supervisor/supervisor.ts";
import { LivenessProbe, type ProbeTimes } from "../../lib/liveness-probe.ts";
import { Fault } from "../../lib/fault.ts";
import type { Log } from "../../lib/log.ts";
import { Secret } from "../../lib/secret.ts";
import type { OpenedServer } from "./server-processes.ts";
import type { ServerRecord } from "./server-record.ts";
import type { SparkScope } from "../execution/spark-scope.ts";

/** A few sessions are made ahead: the first request of a session costs as much as a small statement. */
const SPARE_SESSIONS = 2;
/** Much shorter than the time after which the server drops an unused session. */
const SPARE_LIFE_MS = 30 * 60_000;

export interface WarmServerOptions {
  readonly probes?: ProbeTimes;
  readonly log: Log;
}

const PROBE_TIMES: ProbeTimes = { goodForMs: 30_000 };

/** These load the classes of a first statement and connect to the catalog. */
const WARM_UP = ["select 1", "select count(*) from range(1000) group by id % 7", "show schemas"];

/** A Spark Connect server, local or remote, with its sessions. */
export class WarmServer extends Supervised<SparkScope> {
  readonly name: string;
  readonly record: ServerRecord;
  readonly process: RunningServer;
  readonly ready: Promise<ConnectChannel>;
  readonly #options: WarmServerOptions;
  readonly #stopped = new AbortController();
  /** The groups of statements that are still to be run when the server is idle. */
  readonly #whenIdle: (readonly string[])[];
  /** Interrupts the one that runs. */
  #interruptIdle: (() => void) | undefined;
  readonly #spare: { session: ConnectSession; madeAt: number }[] = [];
  isUp = false;

  constructor({ name, record, process, started, warmUp = [] }: OpenedServer, options: WarmServerOptions) {
    super(record.place, record.digest, record.memoryMiB);
    this.name = name;
    this.record = record;
    this.process = process;
    this.#options = options;
    this.#whenIdle = [...warmUp];
    this.ready = this.#open(started);
  }

  async #open(started: Promise<void>): Promise<ConnectChannel> {
    await started;
    const { openConnect } = await import("../../engines/spark-connect/spark-connect.ts");
    const { token, ...address } = await this.process.ready(this.removed);
    const channel = openConnect({
      ...address,
      token: token === undefined ? undefined : new Secret(token),
      sessionUser: `account${this.record.place.accountId}`,
      storedResults: !this.isRemote,
      log: this.#options.log,
    });
    try {
      await this.#untilAnswered(channel);
    } catch (error) {
      channel.close();
      throw error;
    }
    this.isUp = true;
    return channel;
  }

  /** A leftover server may be busy with queries, so it gets as much time to answer as one that was up. */
  async #untilAnswered(channel: ConnectChannel): Promise<void> {
    if (this.isRemote) {
      await channel.ping();
      return;
    }
    const { probes = PROBE_TIMES, log } = this.#options;
    this.livenessProbe = new LivenessProbe({
      ...probes,
      request: () => channel.isResponding(),
      signal: this.removed,
      log,
    });
    if (await this.isSilent()) throw new Fault("unavailable", "the Spark server does not answer");
    this.removed.throwIfAborted();
  }

  /** The generation of the app that it was started for. */
  get generation(): number {
    return this.record.generation ?? 0;
  }

  get isRemote(): boolean {
    return this.record.memoryMiB === 0;
  }

  /** A session that was not used before. The caller releases it. */
  async takeSession(): Promise<ConnectSession> {
    this.#interruptIdle?.();
    const ahead = this.#spare.shift();
    const isFresh = ahead !== undefined && performance.now() - ahead.madeAt < SPARE_LIFE_MS;
    return isFresh ? ahead.session : (await this.ready).session();
  }

  /** Opens spare sessions; called when the server is idle. A remote server gets none. */
  async makeSessions(): Promise<void> {
    const channel = await this.ready;
    if (this.isRemote) return;
    while (this.#spare.length < SPARE_SESSIONS && this.isAvailable) {
      const session = channel.session();
      await session.open();
      this.#spare.push({ session, madeAt: performance.now() });
    }
  }

  warmUp(): Promise<void> {
    return this.#load(WARM_UP);
  }

  /** Called when the server is idle: prepares it for the next command. */
  async prepareNext(): Promise<void> {
    await this.makeSessions();
    await this.#loadWhenIdle();
  }

  async #load(statements: readonly string[]): Promise<void> {
    if (this.isRemote) return;
    const session = (await this.ready).session();
    try {
      for (const sql of statements) await run(session, sql, crypto.randomUUID());
    } finally {
      await session.release().catch(() => undefined);
    }
  }

  /** A command interrupts these statements. Their group begins again, in a new session, when the server is idle again. */
  async #loadWhenIdle(): Promise<void> {
    const channel = await this.ready;
    if (this.isRemote || this.#interruptIdle !== undefined || this.#whenIdle.length === 0) return;
    const session = channel.session();
    const interruption = new AbortController();
    let operationId = "";
    this.#interruptIdle = () => {
      interruption.abort();
      void session.interrupt(operationId).catch(() => undefined);
    };
    try {
      for (;;) {
        const [group] = this.#whenIdle;
        if (group === undefined) return;
        for (const sql of group) {
          if (!this.isIdle || interruption.signal.aborted) return;
          operationId = crypto.randomUUID();
          await run(session, sql, operationId);
        }
        this.#whenIdle.shift();
      }
    } catch (error) {
      if (interruption.signal.aborted) return;
      this.#whenIdle.length = 0;
      throw error;
    } finally {
      this.#interruptIdle = undefined;
      await session.release().catch(() => undefined);
    }
  }

  ended(signal: AbortSignal): Promise<void> {
    return this.process.ended(signal);
  }

  /** Aborted when this node ends the server. */
  get stopped(): AbortSignal {
    return this.#stopped.signal;
  }

  override async close(): Promise<void> {
    this.isUp = false;
    await this.ready.then(
      (channel) => channel.close(),
      () => undefined,
    );
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.close();
    await this.process.stop();
  }
}

async function run(session: ConnectSession, sql: string, operationId: string): Promise<void> {
  for await (const event of session.execute(sql, { operationId })) void event;
}
