import type { Duplex } from "node:stream";
import { Client, type ClientBase, type ClientConfig } from "pg";
import { errorCode } from "./store-fault.ts";
import { connectionStream } from "./statement-sending.ts";

/** Time is counted in timer ticks: a pause of the whole process, however long, counts as one tick. */
const TICK_MS = 250;
/** A unit that has waited this long triggers a probe of PostgreSQL. */
const PROBE_AFTER_TICKS = 4;
const PROBE_LIMIT_TICKS = 10;
/** The pause between two probes while a server responds but a unit takes long. */
const PROBE_PAUSE_TICKS = 8;

/** Work in PostgreSQL with a deadline. */
export interface Unit {
  /** Called at most once: at the deadline, or when the database is found to be unresponsive. */
  giveUp(error: DatabaseTimeout): void;
}

export class DatabaseTimeout extends Error {
  readonly code = "ETIMEDOUT";
}

/**
 * Enforces the deadlines of units, and detects an unresponsive PostgreSQL, for example if the network drops every
 * packet: then no error is reported.
 *
 * | state | entered when | units |
 * |---|---|---|
 * | responsive | at the start; a probe is answered | run until their deadline |
 * | silent | a probe times out, and no unit got a reply meanwhile | fail at once, including current ones |
 *
 * A probe opens a connection of its own, which distinguishes a silent server from a slow statement.
 */
export class OutageWatch {
  readonly #connection: ClientConfig;
  readonly #units = new Map<Unit, { age: number; readonly limit: number }>();
  #timer: NodeJS.Timeout | undefined;
  #probe: { ticksLeft: number; answersBefore: number; readonly stream: Duplex } | undefined;
  #ticksToNextProbe = 0;
  #isSilent = false;
  #answers = 0;
  #generation = 0;

  constructor(connection: ClientConfig) {
    this.#connection = connection;
  }

  /** Increases whenever a reply was missing. Idle connections of an earlier generation may be dead. */
  get generation(): number {
    return this.#generation;
  }

  begin(unit: Unit, limitMs: number): void {
    if (this.#isSilent) throw new DatabaseTimeout("the database does not respond");
    this.#units.set(unit, { age: 0, limit: Math.ceil(limitMs / TICK_MS) + 1 });
    this.#timer ??= setInterval(() => this.#tick(), TICK_MS).unref();
  }

  end(unit: Unit): void {
    if (this.#units.delete(unit)) this.#answers += 1;
  }

  close(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#probe?.stream.destroy();
  }

  #tick(): void {
    if (this.#units.size === 0 && !this.#isSilent && this.#probe === undefined) {
      clearInterval(this.#timer);
      this.#timer = undefined;
      return;
    }
    let isLate = this.#isSilent;
    for (const [unit, time] of this.#units) {
      time.age += 1;
      if (time.age >= time.limit) this.#abandon(unit, "the database did not respond in time");
      else if (time.age >= PROBE_AFTER_TICKS) isLate = true;
    }
    this.#ticksToNextProbe -= 1;
    if (this.#probe === undefined) {
      if (isLate && this.#ticksToNextProbe <= 0) this.#startProbe();
    } else {
      this.#probe.ticksLeft -= 1;
      if (this.#probe.ticksLeft <= 0) this.#probe.stream.destroy(new DatabaseTimeout("the probe was not answered"));
    }
  }

  #startProbe(): void {
    const client = new Client({ ...this.#connection, application_name: "headgate probe" });
    client.on("error", () => undefined);
    this.#probe = { ticksLeft: PROBE_LIMIT_TICKS, answersBefore: this.#answers, stream: connectionStream(client) };
    void isAnswered(client).then((answered) => this.#endProbe(answered));
  }

  #endProbe(answered: boolean): void {
    const heardSince = this.#probe !== undefined && this.#answers > this.#probe.answersBefore;
    this.#probe?.stream.destroy();
    this.#probe = undefined;
    this.#isSilent = !answered && !heardSince;
    this.#ticksToNextProbe = answered ? PROBE_PAUSE_TICKS : 0;
    if (!this.#isSilent) return;
    for (const unit of this.#units.keys()) this.#abandon(unit, "the database does not respond");
  }

  /** The unit closes its connection, so that a late reply is never taken for that of another statement. */
  #abandon(unit: Unit, why: string): void {
    this.#units.delete(unit);
    this.#generation += 1;
    unit.giveUp(new DatabaseTimeout(why));
  }
}

/** An error counts as an answer, too. */
async function isAnswered(client: ClientBase): Promise<boolean> {
  try {
    await client.connect();
    await client.query("select 1");
    return true;
  } catch (error) {
    return errorCode(error) !== "ETIMEDOUT";
  }
}
