import type { RunningServer } from "../../engines/connect-server/connect-server.ts";
import type { ConnectChannel } from "../../engines/spark-connect/spark-connect.ts";
import type { ConnectSession } from "../../engines/spark-connect/connect-session.ts";
import { Answering, type LookTimes } from "../../lib/answering.ts";
import { Fault } from "../../lib/fault.ts";
import type { Log } from "../../lib/log.ts";
import { Secret } from "../../lib/secret.ts";
import type { ServerRecord } from "./server-record.ts";

/** A few sessions are made ahead: the first request of a session costs as much as a small statement. */
const SPARE_SESSIONS = 2;
/** Long before the server forgets it. */
const SPARE_LIFE_MS = 30 * 60_000;

const LOOKS: LookTimes = { goodForMs: 30_000 };

/** Where the classes of a first statement are loaded, and the catalog is asked for the first time. */
const WARM_UP = ["select 1", "select count(*) from range(1000) group by id % 7", "show schemas"];

/**
 * One Spark Connect server and what it is used for. A command holds it by `use` until it calls what that gives back;
 * a server that nobody holds may be ended.
 */
export class WarmServer {
  readonly name: string;
  readonly record: ServerRecord;
  readonly process: RunningServer;
  /** Settles when it answers; fails with the reason why it never will. */
  readonly ready: Promise<ConnectChannel>;
  readonly #log: Log;
  readonly #looks: LookTimes;
  readonly #gone = new AbortController();
  readonly #stopped = new AbortController();
  #users = 0;
  #lastUsedAt = performance.now();
  /** Once there is somebody to ask. */
  #answering: Answering | undefined;
  readonly #spare: { session: ConnectSession; madeAt: number }[] = [];
  /** It serves who holds it and takes nobody else. */
  isDraining = false;
  isUp = false;

  constructor(
    name: string,
    record: ServerRecord,
    process: RunningServer,
    { started, looks = LOOKS, log }: { started: Promise<void>; looks?: LookTimes | undefined; log: Log },
  ) {
    this.name = name;
    this.record = record;
    this.process = process;
    this.#log = log;
    this.#looks = looks;
    this.ready = this.#open(started);
    this.ready.catch(() => undefined); // told to whoever waits for it
  }

  async #open(started: Promise<void>): Promise<ConnectChannel> {
    await started;
    const { openConnect } = await import("../../engines/spark-connect/spark-connect.ts");
    const { token, ...address } = await this.process.ready(this.#gone.signal);
    const channel = openConnect({
      ...address,
      token: token === undefined ? undefined : new Secret(token),
      sessionUser: `account${this.record.place.accountId}`,
      storedResults: !this.isRemote,
      log: this.#log,
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

  /** One of before may run queries and be busy with itself: it is ended no sooner than one that was up. */
  async #untilAnswered(channel: ConnectChannel): Promise<void> {
    if (this.isRemote) {
      await channel.ping();
      return;
    }
    const { gone } = this;
    this.#answering = new Answering({ ...this.#looks, ask: () => channel.answers(), signal: gone, log: this.#log });
    if (await this.#answering.isSilent()) throw new Fault("unavailable", "the Spark server does not answer");
    gone.throwIfAborted();
  }

  /** Somebody else's. */
  get isRemote(): boolean {
    return this.record.memoryMiB === 0;
  }

  get isIdle(): boolean {
    return this.#users === 0;
  }

  get idleMs(): number {
    return this.isIdle ? performance.now() - this.#lastUsedAt : 0;
  }

  /** The answer ends the use of it. */
  use(): () => void {
    this.#users += 1;
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.#users -= 1;
      this.#lastUsedAt = performance.now();
    };
  }

  /** One that nobody has used. Whoever takes it releases it. */
  async takeSession(): Promise<ConnectSession> {
    const ahead = this.#spare.shift();
    const isFresh = ahead !== undefined && performance.now() - ahead.madeAt < SPARE_LIFE_MS;
    return isFresh ? ahead.session : (await this.ready).session();
  }

  /** Called when there is time for it. Somebody else's server is not filled with what may never be used. */
  async makeSessions(): Promise<void> {
    const channel = await this.ready;
    if (this.isRemote) return;
    while (this.#spare.length < SPARE_SESSIONS && !this.isDraining) {
      const session = channel.session();
      await session.open();
      this.#spare.push({ session, madeAt: performance.now() });
    }
  }

  async warmUp(): Promise<void> {
    if (this.isRemote) return;
    const session = (await this.ready).session();
    try {
      for (const sql of WARM_UP) {
        for await (const event of session.execute(sql, { operationId: crypto.randomUUID() })) void event;
      }
    } finally {
      await session.release().catch(() => undefined);
    }
  }

  /** Of one that is up: whether it lives and has not answered for a minute. */
  async isSilent(): Promise<boolean> {
    return (await this.#answering?.isSilent()) ?? false;
  }

  /** Given up by us; it runs on. */
  get gone(): AbortSignal {
    return this.#gone.signal;
  }

  /** Aborted when this node ends the server. */
  get stopped(): AbortSignal {
    return this.#stopped.signal;
  }

  async close(): Promise<void> {
    this.isDraining = true;
    this.isUp = false;
    this.#gone.abort();
    await this.ready.then(
      (channel) => channel.close(),
      () => undefined,
    );
  }

  /** Settles when nothing of it is left. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.close();
    await this.process.stop();
  }
}
