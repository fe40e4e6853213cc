/**
 * The quota of an account on this node's disk. Everything below `<data>/accounts/<id>` counts: folders of running
 * commands, results, logs, spools, scratch files of warm servers, and the account's local storage. Above the quota the
 * account's running commands end as error, and its commands neither start nor are accepted until it is below the quota.
 */
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { readDisk, usageText } from "../../lib/disk-usage.ts";
import { Fault } from "../../lib/fault.ts";
import type { Log } from "../../lib/log.ts";
import { sizeText } from "../../lib/size-text.ts";
import type { AccountToMeasure } from "./account-disk-worker.ts";

export interface AccountDiskOptions {
  readonly dataDir: string;
  /** Null: no quota. */
  readonly quotaBytes: number | null;
  /** The warm servers. */
  readonly servers: { accounts(): number[] };
  readonly log: Log;
}

export interface WithAccountDisk {
  accountDisk: Pick<AccountDisk, "check">;
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

interface Measured {
  readonly used: number;
  readonly freeBytes: number;
  readonly at: number;
  readonly workMs: number;
}

export class AccountDisk {
  readonly #options: AccountDiskOptions;
  readonly #measured = new Map<number, Measured>();
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
      `The account cannot submit commands: ${over}. Space is freed when its results and logs expire; or ask the ` +
        "operator to remove files from its local storage or to raise the quota.",
    );
  }

  /** Says how far the account is above its quota; undefined: it is not. */
  excess(accountId: number): string | undefined {
    const { quotaBytes } = this.#options;
    const used = this.#measured.get(accountId)?.used ?? 0;
    if (quotaBytes === null || used <= quotaBytes) return undefined;
    return `its files on this node ${usageText(used)}, and HEADGATE_ACCOUNT_DISK allows ${sizeText(quotaBytes)}`;
  }

  /** Measures the accounts that may write, and those above their quota; ends what runs for the latter. */
  async enforce(commands: RunningCommands): Promise<void> {
    const { quotaBytes, servers } = this.#options;
    if (quotaBytes === null) return;
    const above = [...this.#measured.keys()].filter((id) => this.excess(id) !== undefined);
    const all = new Set([...commands.running().map(({ accountId }) => accountId), ...servers.accounts(), ...above]);
    for (const accountId of all) {
      try {
        await this.#enforceFor(accountId, quotaBytes, commands);
      } catch (error) {
        this.#options.log.warn({ err: error, accountId }, "the files of an account could not be measured");
      }
    }
  }

  async stop(): Promise<void> {
    await this.#worker?.terminate();
  }

  async #enforceFor(accountId: number, quotaBytes: number, commands: RunningCommands): Promise<void> {
    const { dataDir, log } = this.#options;
    const disk = readDisk(dataDir);
    const last = this.#measured.get(accountId);
    if (disk === undefined || !isDue(last, disk.freeBytes, quotaBytes)) return;
    const begin = performance.now();
    const used = await this.#measure({
      folder: join(dataDir, "accounts", String(accountId)),
      running: commands
        .running()
        .filter((run) => run.accountId === accountId)
        .map(({ id }) => String(id)),
      minBytes: disk.bytesPerInode,
    });
    const at = performance.now();
    this.#measured.set(accountId, { used, freeBytes: disk.freeBytes, at, workMs: at - begin });
    const over = this.excess(accountId);
    if (over === undefined) return;
    if (last === undefined || last.used <= quotaBytes)
      log.warn({ accountId, used, quotaBytes }, "an account is above its quota");
    commands.endRunsOf(accountId, `the account is above its quota: ${over}`);
  }

  /** Never called twice at the same time: `enforce` waits for it. */
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

function isDue(last: Measured | undefined, freeBytes: number, quotaBytes: number): boolean {
  if (last === undefined) return true;
  const isNearQuota = last.used > quotaBytes || last.freeBytes - freeBytes >= (quotaBytes - last.used) / 8;
  return performance.now() - last.at >= last.workMs / (isNearQuota ? TIME_SHARE_NEAR_QUOTA : TIME_SHARE);
}
