/**
 * The journals of copies on this node. A journal is in the folder of its command, so all attempts of the command share it.
 * It lasts until the command has ended. The command may end without this node: between two attempts, or because the node
 * was silent. Therefore a list of open journals is stored separately, and a periodic task cleans up after ended commands.
 */
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { isOver, openRunnerClient } from "../../processes/runner/runner-client.ts";
import type { CopyRequest } from "../../engines/s3-copy/copy-request.ts";
import { JournalError } from "../../engines/s3-copy/journal-line.ts";
import { makeOwnedFolder } from "../../processes/sandbox/confined-folders.ts";
import { DAY_MS } from "../../lib/clock.ts";
import { limitConcurrency } from "../../lib/limit-concurrency.ts";
import type { Log } from "../../lib/log.ts";
import { removeTree } from "../../processes/tree-removal/remove-tree.ts";
import { accountIdentity, commandFiles } from "../execution/command-files.ts";
import { findCopy } from "../store/copies.ts";
import type { RunnableCommand } from "../store/command-row.ts";
import { addFailure, type FailedCleanUp, formatFailedCleanUp, parseFailedCleanUp } from "./clean-up-schedule.ts";
import { copyRequest, type RequestServices } from "./copy-request.ts";

export interface CopyJournalsOptions extends RequestServices {
  readonly dataDir: string;
  /** The folder of the list of open journals. */
  readonly listFolder?: string;
  /** Removes the unfinished work of killed attempts, such as open uploads. Returns how much there was. */
  readonly cleanUp: (request: CopyRequest, signal: AbortSignal) => Promise<number>;
  readonly log: Log;
  readonly now?: () => number;
  readonly random?: () => number;
}

export type JournalOwner = Pick<RunnableCommand, "id" | "accountId">;

const CLEAN_UP_LIMIT_MS = 10_000;
/** If the store is unreachable for longer, its unfinished uploads stay. */
const GIVE_UP_MS = DAY_MS;
/** Accounts whose journals are settled at the same time. */
const ACCOUNT_CONCURRENCY = 4;
/** Clean-ups of one account that may fail in a round. The others wait for the next round. */
const FAILURES_PER_ROUND = 3;
const ENTRY = /^(\d+)-(\d+)$/;

export class CopyJournals {
  readonly #options: CopyJournalsOptions;
  readonly #list: string;
  readonly #underWay = new Set<number>();
  readonly #now: () => number;
  readonly #random: () => number;

  constructor(options: CopyJournalsOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
    this.#random = options.random ?? Math.random;
    this.#list = options.listFolder ?? join(options.dataDir, "open-copies");
  }

  pathOf({ accountId, id }: JournalOwner): string {
    return join(commandFiles(this.#options.dataDir, accountId, id).folder, "copy");
  }

  /** `isNew`: no attempt has begun before, so an existing journal was never used. */
  async open(owner: JournalOwner, isNew: boolean): Promise<void> {
    const path = this.pathOf(owner);
    if (isNew) await removeTree(path);
    await mkdir(this.#list, { recursive: true, mode: 0o700 });
    await writeFile(this.#entryOf(owner), "");
    await makeOwnedFolder(path, accountIdentity(owner.accountId));
  }

  /**
   * If the command has ended: cleans up after its attempts, then removes the journal. False: the clean-up failed and is
   * tried again later.
   */
  async settle(owner: JournalOwner): Promise<boolean> {
    if (this.#underWay.has(owner.id)) return true;
    this.#underWay.add(owner.id);
    try {
      if (!existsSync(this.#entryOf(owner))) return true; // it was settled meanwhile
      if (!(await this.#isOver(owner))) return true;
      if (!(await this.#cleanUp(owner))) return false;
      await removeTree(this.pathOf(owner));
      await rm(this.#entryOf(owner), { force: true });
      return true;
    } finally {
      this.#underWay.delete(owner.id);
    }
  }

  /** Settles all open journals whose clean-up is due. The store of one account cannot delay other accounts for long. */
  async settleAll(): Promise<void> {
    const inSlot = limitConcurrency(ACCOUNT_CONCURRENCY);
    const accounts = Map.groupBy(await this.#listDue(), ({ accountId }) => accountId).values();
    await Promise.all([...accounts].map((owners) => inSlot(() => this.#settleSome(owners))));
  }

  async #settleSome(owners: readonly JournalOwner[]): Promise<void> {
    let failures = 0;
    for (const owner of owners) {
      if (!(await this.settle(owner))) failures += 1;
      if (failures >= FAILURES_PER_ROUND) return;
    }
  }

  /** Journals whose clean-up has failed come last, in the order in which they are due. */
  async #listDue(): Promise<JournalOwner[]> {
    const names = await readdir(this.#list).catch(() => []);
    const now = this.#now();
    const due: { owner: JournalOwner; dueAt: number }[] = [];
    for (const name of names) {
      const [, accountId, id] = ENTRY.exec(name) ?? [];
      if (id === undefined) continue;
      const owner = { accountId: Number(accountId), id: Number(id) };
      const dueAt = (await this.#failureOf(owner))?.dueAt ?? 0;
      if (dueAt <= now) due.push({ owner, dueAt });
    }
    return due.toSorted((one, other) => one.dueAt - other.dueAt).map(({ owner }) => owner);
  }

  #entryOf({ accountId, id }: JournalOwner): string {
    return join(this.#list, `${accountId}-${id}`);
  }

  /**
   * A missing command was deleted with its account. A run that was lost may still be ending, and the last attempt may be
   * one that never ran: another node has ended the command because this one was silent.
   */
  async #isOver({ accountId, id }: JournalOwner): Promise<boolean> {
    const { db, dataDir } = this.#options;
    const copy = await findCopy(db, id);
    if (copy === undefined) return true;
    if (!copy.hasEnded) return false;
    const files = commandFiles(dataDir, accountId, id);
    for (let attempt = copy.attempt; attempt > 0; attempt -= 1) {
      const view = await openRunnerClient(files.attempt(attempt).folder).observe();
      if (view.state !== "absent" && !isOver(view)) return false;
    }
    return true;
  }

  /** False: it failed and is tried again later. True also if it is given up. */
  async #cleanUp(owner: JournalOwner): Promise<boolean> {
    const { db, cleanUp, log } = this.#options;
    const copy = await findCopy(db, owner.id);
    if (copy === undefined || copy.isDone) return true;
    const journalFolder = this.pathOf(owner);
    try {
      const request = await copyRequest(this.#options, owner.id, { journalFolder, scratchFolder: journalFolder });
      const aborted = await cleanUp(request, AbortSignal.timeout(CLEAN_UP_LIMIT_MS));
      if (aborted > 0) log.info({ command: owner.id, aborted }, "cleaned up the unfinished work of a copy");
      return true;
    } catch (error) {
      const isLast = error instanceof JournalError || (await this.#noteFailure(owner)) > GIVE_UP_MS;
      const next = isLast ? "giving up" : "will be tried again";
      log.warn({ err: error, command: owner.id }, `clean-up of a copy failed; ${next}`);
      return isLast;
    }
  }

  /** Returns how long ago it failed for the first time. */
  async #noteFailure(owner: JournalOwner): Promise<number> {
    const now = this.#now();
    const failed = addFailure(await this.#failureOf(owner), now, this.#random());
    await writeFile(this.#entryOf(owner), formatFailedCleanUp(failed));
    return now - failed.firstFailedAt;
  }

  /** Undefined: its clean-up has not failed. */
  async #failureOf(owner: JournalOwner): Promise<FailedCleanUp | undefined> {
    return parseFailedCleanUp(await readFile(this.#entryOf(owner), "utf8").catch(() => ""));
  }
}
