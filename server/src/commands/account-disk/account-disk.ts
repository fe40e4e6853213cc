/**
 * The quota of an account on this node's disk. Everything below `<data>/accounts/<id>` counts: folders of running
 * commands, results, logs, spools, scratch files of warm servers, and the account's local storage. Above the quota the
 * account's running commands end as error, and its commands neither start nor are accepted until it is below the quota.
 */
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import type { DiskReservation } from "../../lib/disk-reservation.ts";
import { readDisk, usageText } from "../../lib/disk-usage.ts";
import { Fault } from "../../lib/fault.ts";
import type { Log } from "../../lib/log.ts";
import { limitConcurrency } from "../../lib/limit-concurrency.ts";
import { sizeText } from "../../lib/size-text.ts";
import type { AccountToMeasure } from "./account-disk-worker.ts";
import { UploadedBytes } from "./uploaded-bytes.ts";

export interface AccountDiskOptions {
  readonly dataDir: string;
  /** Null: no quota. */
  readonly quotaBytes: number | null;
  /** The warm servers. */
  readonly servers: { accounts(): number[] };
  readonly commands: () => RunningCommands;
  readonly log: Log;
}

export interface WithAccountDisk {
  accountDisk: Pick<AccountDisk, "check" | "reserve">;
}

/** The commands that run on this node. */
interface RunningCommands {
  running(): { id: number; accountId: number }[];
  /** Ends those of the account as `error`. */
  endRunsOf(accountId: number, cause: string): void;
}

/** Measuring takes at most this share of the time; more when the account may soon reach its quota. */
const TIME_SHARE = 1 / 20;
const TIME_SHARE_NEAR_QUOTA = 1 / 2;

/** An account without commands is measured for an upload after this time. */
const KNOWN_FOR_MS = 10 * 60_000;
const MAX_MARGIN_BYTES = 256 * 1024 * 1024;

interface Measured {
  readonly used: number;
  readonly freeBytes: number;
  readonly at: number;
  readonly workMs: number;
}

export class AccountDisk {
  readonly #options: AccountDiskOptions;
  readonly #measured = new Map<number, Measured>();
  readonly #uploads = new UploadedBytes();
  /** The accounts that were above their quota at the last check. */
  readonly #above = new Set<number>();
  readonly #inTurn = limitConcurrency(1);
  #worker: Worker | undefined;

  constructor(options: AccountDiskOptions) {
    this.#options = options;
  }

  /** Throws if the account is above its quota. */
  check(accountId: number): void {
    const over = this.excess(accountId);
    if (over === undefined) return;
    throw new Fault(
      "invalid",
      `The account cannot submit commands: ${over}. Delete files (DELETE /api/v2/files/<path>), wait until results ` +
        "and logs expire, or ask the operator to raise the quota.",
    );
  }

  /** Says how far the account is above its quota; undefined: it is not. */
  excess(accountId: number): string | undefined {
    const { quotaBytes } = this.#options;
    const used = this.#measured.get(accountId)?.used ?? 0;
    if (quotaBytes === null || used <= quotaBytes) return undefined;
    return `its files on this node ${usageText(used)}, and HEADGATE_ACCOUNT_DISK allows ${sizeText(quotaBytes)}`;
  }

  /**
   * Room for a file that is being uploaded to the account's local storage. It leaves a margin below the quota, because
   * commands that run are ended above it. If the length is unknown, the room is checked as bytes arrive.
   */
  async reserve(accountId: number, bytes: number | undefined): Promise<DiskReservation> {
    const { quotaBytes } = this.#options;
    if (quotaBytes === null) return UNLIMITED;
    const reservation = this.#uploads.open(accountId, bytes ?? 0);
    try {
      // An upload that has replaced a file counts twice until the next measurement.
      const mayCountTwice = bytes === undefined && this.#uploads.hasStored(accountId);
      if (this.#isFull(accountId, quotaBytes) || this.#isUnknown(accountId) || mayCountTwice) {
        await this.#inTurn(() => this.#measureDue(accountId, quotaBytes));
      }
      if (this.#isFull(accountId, quotaBytes)) throw noRoom(quotaBytes);
    } catch (error) {
      reservation.release(false);
      throw error;
    }
    return {
      add: (more) => {
        reservation.add(more);
        if (this.#isFull(accountId, quotaBytes)) throw noRoom(quotaBytes);
      },
      release: (isStored) => reservation.release(isStored),
    };
  }

  /** Measures the accounts that may write, and those above their quota; ends what runs for the latter. */
  async enforce(): Promise<void> {
    const { quotaBytes, servers, commands } = this.#options;
    if (quotaBytes === null) return;
    const above = [...this.#measured.keys()].filter((id) => this.excess(id) !== undefined);
    const running = commands().running();
    const all = new Set([...running.map(({ accountId }) => accountId), ...servers.accounts(), ...above]);
    for (const accountId of all) {
      try {
        await this.#enforceFor(accountId, quotaBytes);
      } catch (error) {
        this.#options.log.warn({ err: error, accountId }, "the files of an account could not be measured");
      }
    }
  }

  async stop(): Promise<void> {
    await this.#worker?.terminate();
  }

  /** Acts on the last measurement, even if an upload has caused it. */
  async #enforceFor(accountId: number, quotaBytes: number): Promise<void> {
    await this.#inTurn(() => this.#measureDue(accountId, quotaBytes));
    const over = this.excess(accountId);
    if (over === undefined) {
      this.#above.delete(accountId);
      return;
    }
    if (!this.#above.has(accountId)) {
      const used = this.#measured.get(accountId)?.used;
      this.#options.log.warn({ accountId, used, quotaBytes }, "an account is above its quota");
    }
    this.#above.add(accountId);
    this.#options.commands().endRunsOf(accountId, `the account is above its quota: ${over}`);
  }

  #isUnknown(accountId: number): boolean {
    const last = this.#measured.get(accountId);
    return last === undefined || performance.now() - last.at > KNOWN_FOR_MS;
  }

  #isFull(accountId: number, quotaBytes: number): boolean {
    const margin = Math.min(quotaBytes / 20, MAX_MARGIN_BYTES);
    return (this.#measured.get(accountId)?.used ?? 0) + this.#uploads.bytesOf(accountId) > quotaBytes - margin;
  }

  /** Does nothing if it is too early to measure again. */
  async #measureDue(accountId: number, quotaBytes: number): Promise<void> {
    const { dataDir, commands } = this.#options;
    const disk = readDisk(dataDir);
    if (disk === undefined || !isDue(this.#measured.get(accountId), disk.freeBytes, quotaBytes)) return;
    const ofAccount = commands()
      .running()
      .filter((run) => run.accountId === accountId);
    const running = ofAccount.map(({ id }) => String(id));
    const begin = performance.now();
    const forgetCounted = this.#uploads.beginMeasuring(accountId);
    const folder = join(dataDir, "accounts", String(accountId));
    const used = await this.#measure({ folder, running, minBytes: disk.bytesPerInode });
    forgetCounted();
    const at = performance.now();
    this.#measured.set(accountId, { used, freeBytes: disk.freeBytes, at, workMs: at - begin });
  }

  /** Never called twice at the same time. */
  async #measure(account: AccountToMeasure): Promise<number> {
    this.#worker ??= this.#openWorker();
    const worker = this.#worker;
    const answer = Promise.withResolvers<number>();
    const onExit = (): void => answer.reject(new Error("the thread that measures folders has ended"));
    worker.once("message", answer.resolve).once("exit", onExit);
    try {
      worker.postMessage(account, []);
      return await answer.promise;
    } finally {
      worker.off("message", answer.resolve).off("exit", onExit);
    }
  }

  #openWorker(): Worker {
    const worker = new Worker(new URL("./account-disk-worker.ts", import.meta.url));
    worker.on("error", (error) =>
      this.#options.log.warn({ err: error }, "the thread that measures accounts' folders has failed"),
    );
    worker.once("exit", () => {
      if (this.#worker === worker) this.#worker = undefined;
    });
    worker.unref();
    return worker;
  }
}

const UNLIMITED: DiskReservation = { add: () => undefined, release: () => undefined };

function noRoom(quotaBytes: number): Fault {
  return new Fault(
    "invalid",
    `The file cannot be stored: the account would come too close to its quota, HEADGATE_ACCOUNT_DISK, which is ` +
      `${sizeText(quotaBytes)}. Delete files, or ask the operator to raise the quota.`,
  );
}

function isDue(last: Measured | undefined, freeBytes: number, quotaBytes: number): boolean {
  if (last === undefined) return true;
  const isNearQuota = last.used > quotaBytes || last.freeBytes - freeBytes >= (quotaBytes - last.used) / 8;
  return performance.now() - last.at >= last.workMs / (isNearQuota ? TIME_SHARE_NEAR_QUOTA : TIME_SHARE);
}
