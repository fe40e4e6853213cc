/**
 * Notices failovers of PostgreSQL. The new primary may lack the last seconds of the old one, with the ids that were given
 * out then; users, logs and object stores still know them. When the timeline has changed since the nodes last looked, one
 * node leaves a gap in every sequence, so that no lost id is given out again.
 */
import type { Database } from "../../db/database.ts";
import { errorCode, isStoreUnavailableFault } from "../../db/store-fault.ts";
import type { Log } from "../../lib/log.ts";
import { findNewTimeline, isInRecovery, noteTimeline } from "../store/nodes.ts";

/** More ids than a busy installation gives out in the seconds that asynchronous replication can lose. */
const GAP = 10_000;
/**
 * A standby refuses to name its position in the write-ahead log, as do managed services that have no such log (Aurora).
 */
const NOT_IN_THIS_STATE = "55000";

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
    if (hasLeftGaps)
      this.#log.warn(
        { timeline },
        `PostgreSQL changed its timeline (failover or restore): raised all sequences by ${GAP}`,
      );
  }

  /** Some managed services do not let users read the write-ahead log. Nodes work there without this. */
  async #find(): Promise<number | undefined> {
    const { system } = this.#db;
    try {
      return await findNewTimeline(system);
    } catch (error) {
      if (isStoreUnavailableFault(error)) throw error;
      if (errorCode(error) === NOT_IN_THIS_STATE && (await isInRecovery(system))) return undefined;
      this.#isMissing = true;
      this.#log.info({ err: error }, "cannot detect failovers: this PostgreSQL does not expose its timeline");
      return undefined;
    }
  }
}
