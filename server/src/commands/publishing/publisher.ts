import type { Queryable } from "../../db/database.ts";
import { ObjectStoreError } from "../../object-store/object-store-error.ts";
import type { Log } from "../../lib/log.ts";
import { type CommandFilesOf, filePart, logName, RESULT_NAME } from "../output/command-text.ts";
import { type LocalResults, textContent, type Content } from "../results/command-result.ts";
import {
  listUnpublished,
  notePublished,
  noteStorageFault,
  noteUnpublishable,
  type UnpublishedAttempt,
} from "../store/publishing.ts";
import {
  openPublishTarget,
  type PublishTarget,
  type PublishTargetOptions,
  UPLOADS_CONCURRENCY,
  UPLOADS_OF_ACCOUNT,
  UploadError,
  type Uploads,
} from "./uploads.ts";
import type { CommandFiles } from "../execution/command-files.ts";

export interface PublisherOptions {
  readonly db: Queryable;
  readonly nodeId: string;
  readonly targets: PublishTargetOptions;
  readonly uploads: Uploads;
  readonly commandFilesOf: CommandFilesOf;
  readonly results: LocalResults;
  readonly log: Log;
}

/** Attempts of an account that are published together: they share one read of its credentials and one update. */
const BATCH = 100;
/** More than uploads run at a time: while some accounts have all slots, others must be seen to wait for one. */
const ACCOUNTS_CONCURRENCY = 2 * UPLOADS_CONCURRENCY;
/** The next attempts of an account wait for its next turn. */
const TURN_MS = 30_000;
const LONGEST_PAUSE_MS = 60_000;
/** A storage whose upload fails pauses ten times as long as it took to fail, so that others get the slots. */
const PAUSE_FACTOR = 10;
const MAX_PAUSE_OF_SLOW_MS = 600_000;
/** Errors of a single object. All others are errors of the storage and concern every object there. */
const OBJECT_ERRORS = new Set(["too-large", "bad-request"]);

interface Pause {
  readonly failures: number;
  readonly until: number;
}

/**
 * Publishes results and logs of this node to the storage of their accounts, long after the end of the command if needed. The
 * rows of attempts to publish are written with the end of the attempt, so nothing here has to survive a crash. An account
 * whose storage fails is paused, and then tried with a single attempt; other accounts do not wait for it.
 */
export class Publisher {
  readonly #options: PublisherOptions;
  readonly #underWay = new Map<number, Promise<void>>();
  readonly #pauses = new Map<number, Pause>();
  /** The next call of `publishDue` starts after this account, so that every account has its turn. */
  #afterAccount = 0;
  #stopped = false;

  constructor(options: PublisherOptions) {
    this.#options = options;
  }

  /** Begins to publish what is due, up to the limit of accounts. Called periodically. */
  async publishDue(): Promise<void> {
    const { db, nodeId } = this.#options;
    const room = ACCOUNTS_CONCURRENCY - this.#underWay.size;
    if (this.#stopped || room === 0) return;
    const now = performance.now();
    const paused = [...this.#pauses].filter(([, { until }]) => until > now).map(([accountId]) => accountId);
    const leaveAlone = [...this.#underWay.keys(), ...paused];
    const due = await listUnpublished(db, nodeId, {
      leaveAlone,
      after: this.#afterAccount,
      accounts: room,
      each: BATCH,
    });
    const accounts = Map.groupBy(due, ({ accountId }) => accountId);
    this.#afterAccount = accounts.size < room ? 0 : Math.max(...accounts.keys());
    for (const [accountId, attempts] of this.#stopped ? [] : accounts) {
      const isOnTrial = this.#pauses.has(accountId);
      const work = this.#publishSome(accountId, isOnTrial ? attempts.slice(0, 1) : attempts);
      this.#underWay.set(accountId, work);
      void work.finally(() => this.#underWay.delete(accountId));
    }
  }

  /** Aborts the uploads; the next server repeats them. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#options.uploads.stop();
    await Promise.all(this.#underWay.values());
  }

  /** Never fails. */
  async #publishSome(accountId: number, attempts: readonly UnpublishedAttempt[]): Promise<void> {
    try {
      await this.#note(accountId, await this.#publishAll(accountId, attempts));
    } catch (error) {
      this.#options.log.warn(
        { err: error, account: accountId },
        "uploaded attempts could not be marked as published; they will be uploaded again",
      );
    }
  }

  /** Stops at the first failure of the storage, or when the turn is over; the remaining attempts are not in the result. */
  async #publishAll(accountId: number, attempts: readonly UnpublishedAttempt[]): Promise<End[]> {
    const { targets } = this.#options;
    const ends: End[] = [];
    const left = attempts.values();
    let target: PublishTarget;
    try {
      target = await openPublishTarget(targets, accountId);
    } catch (error) {
      return attempts.slice(0, 1).map((attempt) => ({ attempt, error }));
    }
    const turnEnd = performance.now() + TURN_MS;
    const workThrough = async (): Promise<void> => {
      for (const attempt of left) {
        ends.push({ attempt, error: await this.#publish(target, attempt) });
        if (ends.some(({ error }) => isStorageError(error)) || performance.now() > turnEnd) return;
      }
    };
    try {
      await Promise.all(Array.from({ length: UPLOADS_OF_ACCOUNT }, workThrough));
    } finally {
      await target.store.close();
    }
    return ends;
  }

  /** Undefined: all of it is uploaded. */
  async #publish(target: PublishTarget, attempt: UnpublishedAttempt): Promise<unknown> {
    const { commandFilesOf, results, uploads } = this.#options;
    try {
      const files = commandFilesOf(attempt.accountId, attempt.id);
      for (const { name, content } of await publicationsOf(files, attempt, results)) {
        await uploads.put(attempt.accountId, target.store, target.uriOf(attempt, name), content);
        await target.noteAccepted();
      }
      return undefined;
    } catch (error) {
      return error;
    }
  }

  async #note(accountId: number, ends: readonly End[]): Promise<void> {
    const { db, log } = this.#options;
    const done = ends.filter(({ error }) => error === undefined);
    if (done.length > 0)
      await notePublished(
        db,
        done.map(({ attempt }) => attempt),
      );
    if (this.#stopped) return;
    const failed = ends.filter(({ error }) => error !== undefined);
    for (const { attempt, error } of failed) {
      await noteUnpublishable(db, attempt, reasonOf(error));
      if (!isStorageError(error)) log.warn({ err: error, command: attempt.id }, "a result or log cannot be published");
    }
    const fault = failed.find(({ error }) => isStorageError(error))?.error;
    if (fault === undefined) this.#pauses.delete(accountId);
    else await this.#pause(accountId, fault);
  }

  async #pause(accountId: number, fault: unknown): Promise<void> {
    const { db, nodeId, log } = this.#options;
    const failures = (this.#pauses.get(accountId)?.failures ?? 0) + 1;
    const until = performance.now() + pauseMs(failures, fault instanceof UploadError ? fault.tookMs : 0);
    this.#pauses.set(accountId, { failures, until });
    log[failures === 1 ? "warn" : "debug"](
      { err: fault, account: accountId },
      "the account's storage does not accept objects",
    );
    await noteStorageFault(db, nodeId, accountId, reasonOf(fault));
  }
}

interface End {
  readonly attempt: UnpublishedAttempt;
  /** Undefined: all of it is uploaded. */
  readonly error: unknown;
}

/** How long an account pauses after so many failures in a row, the last of which took that long. Pure. */
export function pauseMs(failures: number, tookMs: number): number {
  const usual = Math.min(LONGEST_PAUSE_MS, 500 * 2 ** failures);
  return Math.max(usual, Math.min(MAX_PAUSE_OF_SLOW_MS, PAUSE_FACTOR * tookMs));
}

function isStorageError(error: unknown): boolean {
  return error instanceof ObjectStoreError && !OBJECT_ERRORS.has(error.kind);
}

/** The part of the error that users may see; the log of the server has the rest. */
function reasonOf(error: unknown): string {
  const why = error instanceof ObjectStoreError ? error.message : "the server failed; its log says more";
  return `cannot be put into the account's storage: ${why}`;
}

/** An object that a command publishes to the account's storage. */
interface Publication {
  readonly name: string;
  readonly content: Content;
}

/** The objects that an ended attempt publishes. Empty or removed ones are left out. */
async function publicationsOf(
  files: CommandFiles,
  attempt: UnpublishedAttempt,
  results: LocalResults,
): Promise<Publication[]> {
  const log = await filePart(files.attempt(attempt.attempt).log);
  const result = attempt.hasResult ? await results.of(attempt) : undefined;
  const named: [string, Content | undefined][] = [
    [logName(attempt.attempt), log === undefined ? undefined : textContent(log)],
    [RESULT_NAME, result?.content],
  ];
  return named.flatMap(([name, content]) => (content === undefined || content.isEmpty ? [] : [{ name, content }]));
}
