/**
 * Sensor requests that wait for their answer to become true. All questions of an account are checked together, and
 * equal ones once. A waiting request holds no database connection.
 *
 * | Result of a check | Effect on the requests that wait for it |
 * |---|---|
 * | true | answered with true |
 * | false | keep waiting; answered with false when their time is over |
 * | a fault of the question | refused |
 * | the store is unavailable | keep waiting; refused with 503 if it is still unavailable when their time is over |
 *
 * Except with true, a request is never answered from a check that began before it arrived. If its time is over without
 * any check, it gets one then.
 */
import { Fault } from "../../lib/fault.ts";

export interface WaitedQuestion {
  /** Equal for equal questions. */
  readonly key: string;
  /** How many lookups it costs. */
  readonly size: number;
}

/** In the order of the questions. */
export type Check<Question> = (accountId: number, questions: readonly Question[]) => Promise<(boolean | Fault)[]>;

export interface SensorWaitsOptions<Question> {
  readonly check: Check<Question>;
  readonly everyMs: number;
  /** In one check of one account. */
  readonly maxLookups?: number;
}

const MAX_LOOKUPS = 10_000;
const RETRY_AFTER_SECONDS = 30;
/** Requests that arrive together are checked together. */
const FIRST_CHECK_MS = 5;
/** Minimum time between checks of different accounts: the more accounts wait, the less often each is checked. */
const APART_MS = 50;

type Outcome = { readonly answer: boolean } | { readonly error: Error };

interface Waiting<Question> {
  readonly question: Question;
  readonly waiters: Set<Waiter>;
  /** How many have begun; checks are numbered from 1. */
  checks: number;
  /** The latest check that has ended. */
  last: { readonly check: number; readonly outcome: Outcome } | undefined;
}

interface Waiter {
  readonly settle: (outcome: Outcome) => void;
  /** The checks that had begun when the request arrived: their results may be older than the request. */
  readonly checksBefore: number;
  /** Its time is over, and the result of the next check answers it. */
  isOver: boolean;
}

interface AccountWaits<Question> {
  readonly questions: Map<string, Waiting<Question>>;
  /** Questions to check right away instead of at the next periodic check. */
  fresh: Set<Waiting<Question>>;
  firstCheck: NodeJS.Timeout | undefined;
  nextCheck: NodeJS.Timeout | undefined;
}

export class SensorWaits<Question extends WaitedQuestion> {
  readonly #check: Check<Question>;
  readonly #everyMs: number;
  readonly #maxLookups: number;
  readonly #accounts = new Map<number, AccountWaits<Question>>();

  constructor({ check, everyMs, maxLookups = MAX_LOOKUPS }: SensorWaitsOptions<Question>) {
    this.#check = check;
    this.#everyMs = everyMs;
    this.#maxLookups = maxLookups;
  }

  /** Resolves to true as soon as the answer is; to false when the time is over or the signal is aborted. */
  wait(accountId: number, question: Question, waitMs: number, signal: AbortSignal): Promise<boolean> {
    const account = this.#accounts.get(accountId) ?? newAccount<Question>();
    const waiting = account.questions.get(question.key) ?? newWaiting(question);
    this.#admit(account, waiting);
    this.#accounts.set(accountId, account);
    if (!account.questions.has(question.key)) {
      account.questions.set(question.key, waiting);
      this.#checkSoon(accountId, account, waiting);
    }
    return new Promise((resolve, reject) => {
      const settle = (outcome: Outcome): void => {
        clearTimeout(limit);
        signal.removeEventListener("abort", giveUp);
        this.#leave(accountId, account, waiting, waiter);
        if ("error" in outcome) reject(outcome.error);
        else resolve(outcome.answer);
      };
      const waiter: Waiter = { settle, checksBefore: waiting.checks, isOver: false };
      const giveUp = (): void => settle({ answer: false });
      const limit = setTimeout(() => {
        waiter.isOver = true;
        const { last, checks } = waiting;
        if (last !== undefined && last.check > waiter.checksBefore) settle(last.outcome);
        else if (checks === waiter.checksBefore) this.#checkSoon(accountId, account, waiting);
      }, waitMs);
      waiting.waiters.add(waiter);
      signal.addEventListener("abort", giveUp);
      if (signal.aborted) giveUp();
    });
  }

  #admit({ questions }: AccountWaits<Question>, { question }: Waiting<Question>): void {
    const lookupsBefore = [...questions.values()].reduce((sum, { question: { size } }) => sum + size, 0);
    if (questions.has(question.key) || questions.size === 0) return;
    if (lookupsBefore + question.size <= this.#maxLookups) return;
    throw new Fault(
      "rate-limited",
      "The waiting sensors of this account ask for too many different partitions or files. Try again later, or without wait_seconds.",
      {
        retryAfterSeconds: RETRY_AFTER_SECONDS,
      },
    );
  }

  #leave(
    accountId: number,
    account: AccountWaits<Question>,
    { question, waiters }: Waiting<Question>,
    waiter: Waiter,
  ): void {
    if (!waiters.delete(waiter)) return;
    if (waiters.size === 0) account.questions.delete(question.key);
    if (account.questions.size > 0) return;
    clearTimeout(account.firstCheck);
    clearTimeout(account.nextCheck);
    this.#accounts.delete(accountId);
  }

  #checkSoon(accountId: number, account: AccountWaits<Question>, waiting: Waiting<Question>): void {
    account.fresh.add(waiting);
    account.firstCheck ??= setTimeout(() => void this.#firstCheck(accountId, account), FIRST_CHECK_MS);
  }

  async #firstCheck(accountId: number, account: AccountWaits<Question>): Promise<void> {
    const { fresh } = account;
    account.fresh = new Set();
    account.firstCheck = undefined;
    await this.#checkSome(accountId, [...fresh]);
    this.#checkLater(accountId, account);
  }

  #checkLater(accountId: number, account: AccountWaits<Question>): void {
    if (this.#accounts.get(accountId) !== account) return;
    const pause = Math.max(this.#everyMs, this.#accounts.size * APART_MS);
    account.nextCheck ??= setTimeout(() => void this.#nextCheck(accountId, account), pause);
  }

  async #nextCheck(accountId: number, account: AccountWaits<Question>): Promise<void> {
    await this.#checkSome(accountId, [...account.questions.values()]);
    account.nextCheck = undefined;
    this.#checkLater(accountId, account);
  }

  async #checkSome(accountId: number, some: readonly Waiting<Question>[]): Promise<void> {
    const begun = some.flatMap((waiting) => {
      if (waiting.waiters.size === 0) return [];
      waiting.checks += 1;
      return [{ waiting, check: waiting.checks }];
    });
    if (begun.length === 0) return;
    const outcomes = await this.#outcomes(
      accountId,
      begun.map(({ waiting }) => waiting.question),
    );
    begun.forEach(({ waiting, check }, at) => report(waiting, check, outcomes[at] ?? { answer: false }));
  }

  async #outcomes(accountId: number, questions: readonly Question[]): Promise<Outcome[]> {
    try {
      const answers = await this.#check(accountId, questions);
      return answers.map((answer) => (answer instanceof Fault ? { error: answer } : { answer }));
    } catch (thrown) {
      const error = thrown instanceof Error ? thrown : new Error(String(thrown));
      return questions.map(() => ({ error }));
    }
  }
}

/** True answers all requests; anything else only those that arrived before the check began. */
function report<Question>(waiting: Waiting<Question>, check: number, outcome: Outcome): void {
  if (check > (waiting.last?.check ?? 0)) waiting.last = { check, outcome };
  const isTrue = "answer" in outcome && outcome.answer;
  for (const { settle, checksBefore, isOver } of waiting.waiters) {
    if (isTrue || (check > checksBefore && (isOver || !isTransient(outcome)))) settle(outcome);
  }
}

/** The next check may have another outcome. */
function isTransient(outcome: Outcome): boolean {
  if ("answer" in outcome) return !outcome.answer;
  return outcome.error instanceof Fault && outcome.error.code === "unavailable";
}

function newWaiting<Question>(question: Question): Waiting<Question> {
  return { question, waiters: new Set(), checks: 0, last: undefined };
}

function newAccount<Question>(): AccountWaits<Question> {
  return { questions: new Map(), fresh: new Set(), firstCheck: undefined, nextCheck: undefined };
}
