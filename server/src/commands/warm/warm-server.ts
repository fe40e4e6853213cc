import type { RunningServer } from "../../engines/connect-server/connect-server.ts";
import { openConnect, type ConnectChannel } from "../../engines/spark-connect/spark-connect.ts";
import type { ConnectSession } from "../../engines/spark-connect/connect-session.ts";
import type { Log } from "../../lib/log.ts";
import { Secret } from "../../lib/secret.ts";
import type { SparkPlace } from "./spark-place.ts";

/** What is told of a server to the next Headgate. */
export interface ServerRecord {
  readonly version: 1;
  readonly place: SparkPlace;
  /** Of the contributions that shaped it. */
  readonly digest: string;
  readonly memoryMiB: number;
}

/** A few sessions are made ahead: the first request of a session costs as much as a small statement. */
const SPARE_SESSIONS = 2;

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
  readonly #gone = new AbortController();
  #users = 0;
  #lastUsedAt = performance.now();
  readonly #spare: Promise<ConnectSession>[] = [];
  /** It serves who holds it and takes nobody else. */
  isDraining = false;
  isUp = false;

  constructor(name: string, record: ServerRecord, process: RunningServer, started: Promise<void>, log: Log) {
    this.name = name;
    this.record = record;
    this.process = process;
    this.#log = log;
    this.ready = this.#open(started);
    this.ready.catch(() => undefined); // told to whoever waits for it
  }

  async #open(started: Promise<void>): Promise<ConnectChannel> {
    await started;
    const { host, port, tls, token } = await this.process.ready(this.#gone.signal);
    const channel = openConnect({
      host,
      port,
      tls,
      token: token === undefined ? undefined : new Secret(token),
      sessionUser: `account${this.record.place.accountId}`,
      log: this.#log,
    });
    await channel.ping();
    this.isUp = true;
    return channel;
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
    if (ahead !== undefined) return ahead;
    return (await this.ready).session();
  }

  /** Called when there is time for it. */
  async makeSessions(): Promise<void> {
    const channel = await this.ready;
    while (this.#spare.length < SPARE_SESSIONS && !this.isDraining) {
      const session = channel.session();
      const opened = session.open().then(() => session);
      opened.catch(() => undefined); // told to whoever takes it
      this.#spare.push(opened);
      await opened;
    }
  }

  async warmUp(): Promise<void> {
    if (this.record.memoryMiB === 0) return; // somebody else's
    const session = (await this.ready).session();
    try {
      for (const sql of WARM_UP) {
        for await (const event of session.execute(sql, { operationId: crypto.randomUUID() })) void event;
      }
    } finally {
      await session.release().catch(() => undefined);
    }
  }

  /** Settles when nothing of it is left. */
  async stop(): Promise<void> {
    this.isDraining = true;
    this.isUp = false;
    this.#gone.abort();
    await this.ready.then(
      (channel) => channel.close(),
      () => undefined,
    );
    await this.process.stop();
  }
}
