/**
 * Notices failovers of PostgreSQL. The new primary may lack the last seconds of the old one, with the ids that were given
 * out then; users, logs and object stores still know them. When the timeline has changed since the nodes last looked, one
 * node leaves a gap in every sequence, so that no lost id is given out again.
 */
import type { Database } from "../../db/database.ts";
import { errorCode } from "../../db/store-fault.ts";
import type { Log } from "../../lib/log.ts";
import { findNewTimeline, noteTimeline } from "../store/nodes.ts";

/** More ids than a busy installation gives out in the seconds that asynchronous replication can lose. */
const GAP = 10_000;
/** Not permitted, not supported, no such function: some managed services have no write-ahead log for users. */
const MISSING = new Set(["42501", "0A000", "42883"]);

export class TimelineWatch {
  readonly #db: Database;
  readonly #log: Log;
  #isMissing = false;

  constructor(db: Database, log: Log) {
    this.#db = db;
    this.#log = log;
  }

  async check(): Promise<void> {
    if (this.#isMissing) return;
    const timeline = await this.#find();
    if (timeline === undefined) return;
    const hasLeftGaps = await this.#db.asSystem((tx) => noteTimeline(tx, timeline, GAP));
    if (hasLeftGaps) this.#log.warn({ timeline }, `PostgreSQL has failed over: the next ids are ${GAP} higher`);
  }

  async #find(): Promise<number | undefined> {
    try {
      return await findNewTimeline(this.#db.system);
    } catch (error) {
      if (!MISSING.has(errorCode(error))) throw error;
      this.#isMissing = true;
      this.#log.info({ err: error }, "failovers of this database cannot be noticed: it does not show its timeline");
      return undefined;
    }
  }
}
