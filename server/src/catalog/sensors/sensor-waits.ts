import { Fault } from "../../lib/fault.ts";

/**
 * Requests that wait for an answer to turn true. Those of one account are looked for together, however many they are and
 * whatever they ask, and those that ask the same share one question. Nothing is held meanwhile but the request itself.
 *
 * | What a look finds | Whoever waits for it |
 * |---|---|
 * | true | is told |
 * | false | waits on, and is told when the time is over |
 * | a fault of the question | is refused |
 * | a store that is away | waits on; is told of it when the time is over and it has not come back |
 *
 * Nobody is told what was seen before they asked: a look counts for those who had come when it began, and whoever has
 * had none when the time is over gets one then.
 */
export interface WaitedQuestion {
  /** The same for the same question. */
  readonly key: string;
  /** How many lookups it costs. */
  readonly size: number;
}

/** In the order of the questions. */
export type Look<Question> = (accountId: number, questions: readonly Question[]) => Promise<(boolean | Fault)[]>;

export interface SensorWaitsOptions<Question> {
  readonly look: Look<Question>;
  readonly everyMs: number;
  readonly limits?: Partial<WaitingLimits>;
}

export interface WaitingLimits {
  readonly perAccount: number;
  readonly perNode: number;
  /** In each look for one account. */
  readonly lookups: number;
}

const LIMITS: WaitingLimits = { perAccount: 1000, perNode: 4000, lookups: 10_000 };
const RETRY_AFTER_SECONDS = 30;
/** Requests that come together are looked for together. */
const FIRST_LOOK_MS = 5;
/** Looks are so far apart at least: the more accounts wait, the longer each does. */
const APART_MS = 50;

type Outcome = { readonly answer: boolean } | { readonly error: Error };

interface Waiting<Question> {
  readonly question: Question;
  readonly waiters: Set<Waiter>;
  /** How many have begun; each has its number. */
  looks: number;
  /** The latest that has come to its end. */
  last: { readonly look: number; readonly outcome: Outcome } | undefined;
}

interface Waiter {
  readonly settle: (outcome: Outcome) => void;
  /** The looks that had begun when it came: what they find may have been before. */
  readonly looksBefore: number;
  /** Nothing is told without a look, however long that takes. */
  isOver: boolean;
}

interface AccountWaits<Question> {
  readonly questions: Map<string, Waiting<Question>>;
  /** To be looked for at once. */
  fresh: Set<Waiting<Question>>;
  waiters: number;
  firstLook: NodeJS.Timeout | undefined;
  nextLook: NodeJS.Timeout | undefined;
}

export class SensorWaits<Question extends WaitedQuestion> {
  readonly #look: Look<Question>;
  readonly #everyMs: number;
  readonly #limits: WaitingLimits;
  readonly #accounts = new Map<number, AccountWaits<Question>>();
  #waiters = 0;

  constructor({ look, everyMs, limits }: SensorWaitsOptions<Question>) {
    this.#look = look;
    this.#everyMs = everyMs;
    this.#limits = { ...LIMITS, ...limits };
  }

  /** True as soon as it is; false when the time is over or the signal is given. */
  wait(accountId: number, question: Question, waitMs: number, signal: AbortSignal): Promise<boolean> {
    const account = this.#accounts.get(accountId) ?? newAccount<Question>();
    const waiting = account.questions.get(question.key) ?? newWaiting(question);
    this.#admit(account, waiting);
    this.#accounts.set(accountId, account);
    if (!account.questions.has(question.key)) {
      account.questions.set(question.key, waiting);
      this.#lookSoon(accountId, account, waiting);
    }
    return new Promise((resolve, reject) => {
      const settle = (outcome: Outcome): void => {
        clearTimeout(limit);
        signal.removeEventListener("abort", giveUp);
        this.#leave(accountId, account, waiting, waiter);
        if ("error" in outcome) reject(outcome.error);
        else resolve(outcome.answer);
      };
      const waiter: Waiter = { settle, looksBefore: waiting.looks, isOver: false };
      const giveUp = (): void => settle({ answer: false });
      const limit = setTimeout(() => {
        waiter.isOver = true;
        const { last, looks } = waiting;
        if (last !== undefined && last.look > waiter.looksBefore) settle(last.outcome);
        else if (looks === waiter.looksBefore) this.#lookSoon(accountId, account, waiting);
      }, waitMs);
      waiting.waiters.add(waiter);
      account.waiters += 1;
      this.#waiters += 1;
      signal.addEventListener("abort", giveUp);
      if (signal.aborted) giveUp();
    });
  }

  #admit({ questions, waiters }: AccountWaits<Question>, { question }: Waiting<Question>): void {
    const { perAccount, perNode, lookups } = this.#limits;
    const asked = [...questions.values()].reduce((sum, { question: { size } }) => sum + size, 0);
    const isTooMuch = !questions.has(question.key) && questions.size > 0 && asked + question.size > lookups;
    if (waiters < perAccount && this.#waiters < perNode && !isTooMuch) return;
    throw new Fault("rate-limited", "Too many sensors wait at once; ask without wait_seconds, or later.", {
      retryAfterSeconds: RETRY_AFTER_SECONDS,
    });
  }

  #leave(
    accountId: number,
    account: AccountWaits<Question>,
    { question, waiters }: Waiting<Question>,
    waiter: Waiter,
  ): void {
    if (!waiters.delete(waiter)) return;
    this.#waiters -= 1;
    account.waiters -= 1;
    if (waiters.size === 0) account.questions.delete(question.key);
    if (account.questions.size > 0) return;
    clearTimeout(account.firstLook);
    clearTimeout(account.nextLook);
    this.#accounts.delete(accountId);
  }

  #lookSoon(accountId: number, account: AccountWaits<Question>, waiting: Waiting<Question>): void {
    account.fresh.add(waiting);
    account.firstLook ??= setTimeout(() => void this.#firstLook(accountId, account), FIRST_LOOK_MS);
  }

  async #firstLook(accountId: number, account: AccountWaits<Question>): Promise<void> {
    const { fresh } = account;
    account.fresh = new Set();
    account.firstLook = undefined;
    await this.#lookFor(accountId, [...fresh]);
    this.#lookLater(accountId, account);
  }

  #lookLater(accountId: number, account: AccountWaits<Question>): void {
    if (this.#accounts.get(accountId) !== account) return;
    const pause = Math.max(this.#everyMs, this.#accounts.size * APART_MS);
    account.nextLook ??= setTimeout(() => void this.#nextLook(accountId, account), pause);
  }

  async #nextLook(accountId: number, account: AccountWaits<Question>): Promise<void> {
    await this.#lookFor(accountId, [...account.questions.values()]);
    account.nextLook = undefined;
    this.#lookLater(accountId, account);
  }

  async #lookFor(accountId: number, some: readonly Waiting<Question>[]): Promise<void> {
    const begun = some.flatMap((waiting) => {
      if (waiting.waiters.size === 0) return [];
      waiting.looks += 1;
      return [{ waiting, look: waiting.looks }];
    });
    if (begun.length === 0) return;
    const outcomes = await this.#outcomes(
      accountId,
      begun.map(({ waiting }) => waiting.question),
    );
    begun.forEach(({ waiting, look }, at) => tell(waiting, look, outcomes[at] ?? { answer: false }));
  }

  async #outcomes(accountId: number, questions: readonly Question[]): Promise<Outcome[]> {
    try {
      const answers = await this.#look(accountId, questions);
      return answers.map((answer) => (answer instanceof Fault ? { error: answer } : { answer }));
    } catch (thrown) {
      const error = thrown instanceof Error ? thrown : new Error(String(thrown));
      return questions.map(() => ({ error }));
    }
  }
}

/** Good news is told to everybody; anything else to those who had come when the look began. */
function tell<Question>(waiting: Waiting<Question>, look: number, outcome: Outcome): void {
  if (look > (waiting.last?.look ?? 0)) waiting.last = { look, outcome };
  const isTrue = "answer" in outcome && outcome.answer;
  for (const { settle, looksBefore, isOver } of waiting.waiters) {
    if (isTrue || (look > looksBefore && (isOver || !isPassing(outcome)))) settle(outcome);
  }
}

/** It may be another one with the next look. */
function isPassing(outcome: Outcome): boolean {
  if ("answer" in outcome) return !outcome.answer;
  return outcome.error instanceof Fault && outcome.error.code === "unavailable";
}

function newWaiting<Question>(question: Question): Waiting<Question> {
  return { question, waiters: new Set(), looks: 0, last: undefined };
}

function newAccount<Question>(): AccountWaits<Question> {
  return { questions: new Map(), fresh: new Set(), waiters: 0, firstLook: undefined, nextLook: undefined };
}
