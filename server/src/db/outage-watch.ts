import type { Duplex } from "node:stream";
import { Client, type ClientBase, type ClientConfig } from "pg";
import { errorCode } from "./error-code.ts";
import { connectionStream } from "./one-write.ts";

/** Time is counted in ticks that ran: a pause of the whole process, however long, is one tick. */
const TICK_MS = 250;
/** A unit without an answer for as long makes us ask whether PostgreSQL answers at all. */
const PROBE_AFTER_TICKS = 4;
const PROBE_LIMIT_TICKS = 10;
/** Between two probes while something takes long on a server that answers. */
const PROBE_PAUSE_TICKS = 8;

/** Work in PostgreSQL that must end in time. */
export interface Unit {
  /** Called at most once: when the time is over, or when the database has fallen silent. */
  giveUp(error: NoAnswerInTime): void;
}

export class NoAnswerInTime extends Error {
  readonly code = "ETIMEDOUT";
}

/**
 * Ends what PostgreSQL does not answer in time, and notices that it has fallen silent, as when a network drops every
 * packet: no error comes then, only nothing.
 *
 * | state | reached when | units |
 * |---|---|---|
 * | answering | at the start; a probe is answered | run until their deadline |
 * | silent | a probe is not answered, and no unit was meanwhile | fail at once, those under way too |
 *
 * A probe opens a connection of its own, which tells a silent server from a slow statement.
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

  /** Idle connections of an older generation may be dead: an answer was missing on one of that time. */
  get generation(): number {
    return this.#generation;
  }

  begin(unit: Unit, limitMs: number): void {
    if (this.#isSilent) throw new NoAnswerInTime("the database has fallen silent");
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
      if (time.age >= time.limit) this.#abandon(unit, "the database did not answer in time");
      else if (time.age >= PROBE_AFTER_TICKS) isLate = true;
    }
    this.#ticksToNextProbe -= 1;
    if (this.#probe === undefined) {
      if (isLate && this.#ticksToNextProbe <= 0) this.#startProbe();
    } else {
      this.#probe.ticksLeft -= 1;
      if (this.#probe.ticksLeft <= 0) this.#probe.stream.destroy(new NoAnswerInTime("no answer to a probe"));
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
    for (const unit of this.#units.keys()) this.#abandon(unit, "the database has fallen silent");
  }

  /** The unit ends its connection, so that a late answer can never be taken for that of another statement. */
  #abandon(unit: Unit, why: string): void {
    this.#units.delete(unit);
    this.#generation += 1;
    unit.giveUp(new NoAnswerInTime(why));
  }
}

/** Errors are answers as well: they reach whoever asks without delay. */
async function isAnswered(client: ClientBase): Promise<boolean> {
  try {
    await client.connect();
    await client.query("select 1");
    return true;
  } catch (error) {
    return errorCode(error) !== "ETIMEDOUT";
  }
}
