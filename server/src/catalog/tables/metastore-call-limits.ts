import type { AdmittedCall, CallGate } from "../../engines/hive-thrift/call-gate.ts";
import { Fault } from "../../lib/fault.ts";

export interface CallLimits {
  readonly calls: number;
  /** For replies, as the client counts them: about two thirds of the memory that they take in V8. */
  readonly bytes: number;
  /** How long a call waits for its turn. */
  readonly waitMs: number;
}

const LIMITS: CallLimits = { calls: 64, bytes: 256 * 1024 * 1024, waitMs: 10_000 };
/** Memory is reserved in steps, the first when the call is admitted. */
const STEP_BYTES = 1024 * 1024;
const RETRY_AFTER_SECONDS = 5;

interface Use {
  calls: number;
  bytes: number;
}

interface Waiting {
  readonly accountId: number;
  begin(): void;
}

/**
 * Limits the concurrent calls of this node to external metastores and the memory for their answers. An account may
 * never use more than what is still free. One account therefore gets at most half, several accounts get equal shares,
 * and a part is always left for the next account.
 */
export class MetastoreCallLimits {
  readonly #limits: CallLimits;
  readonly #total: Use = { calls: 0, bytes: 0 };
  readonly #accounts = new Map<number, Use>();
  /** In order of arrival. Calls of accounts that use too much already are skipped. */
  readonly #waiting = new Set<Waiting>();

  constructor(limits: Partial<CallLimits> = {}) {
    this.#limits = { ...LIMITS, ...limits };
  }

  of(accountId: number): CallGate {
    return { enter: (signal) => this.#enter(accountId, signal) };
  }

  async #enter(accountId: number, signal: AbortSignal): Promise<AdmittedCall> {
    signal.throwIfAborted();
    if (this.#hasRoom(accountId, 1, STEP_BYTES)) this.#take(accountId, 1, STEP_BYTES);
    else await this.#wait(accountId, signal);
    return this.#admit(accountId);
  }

  /** Resolves when the call has been counted. */
  #wait(accountId: number, signal: AbortSignal): Promise<void> {
    const admitted = Promise.withResolvers<void>();
    const giveUp = (reason: unknown): void => {
      stopWaiting();
      admitted.reject(reason);
    };
    const onAbort = (): void => giveUp(signal.reason);
    const timer = setTimeout(() => giveUp(this.#refusal(accountId, 1, STEP_BYTES)), this.#limits.waitMs);
    const waiting: Waiting = {
      accountId,
      begin: () => {
        stopWaiting();
        this.#take(accountId, 1, STEP_BYTES);
        admitted.resolve();
      },
    };
    const stopWaiting = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
      this.#waiting.delete(waiting);
    };
    signal.addEventListener("abort", onAbort, { once: true });
    this.#waiting.add(waiting);
    return admitted.promise;
  }

  #admit(accountId: number): AdmittedCall {
    let takenBytes = STEP_BYTES;
    let usedBytes = 0;
    let calls = 1;
    const end = (): void => {
      this.#free(accountId, calls, 0);
      calls = 0;
    };
    return {
      pay: (bytes) => {
        usedBytes += bytes;
        if (usedBytes <= takenBytes) return;
        const more = Math.ceil((usedBytes - takenBytes) / STEP_BYTES) * STEP_BYTES;
        if (!this.#hasRoom(accountId, 0, more)) throw this.#refusal(accountId, 0, more);
        this.#take(accountId, 0, more);
        takenBytes += more;
      },
      end,
      release: () => {
        const bytes = takenBytes;
        takenBytes = 0;
        end();
        this.#free(accountId, 0, bytes);
      },
    };
  }

  #hasRoom(accountId: number, calls: number, bytes: number): boolean {
    const { calls: ownCalls, bytes: ownBytes } = this.#useOf(accountId);
    const { calls: maxCalls, bytes: maxBytes } = this.#limits;
    return ownCalls + calls <= maxCalls - this.#total.calls && ownBytes + bytes <= maxBytes - this.#total.bytes;
  }

  /** Blames the account itself if it would use more than half, and otherwise the use of all accounts together. */
  #refusal(accountId: number, calls: number, bytes: number): Fault {
    const own = this.#useOf(accountId);
    const { calls: maxCalls, bytes: maxBytes } = this.#limits;
    const details = { retryAfterSeconds: RETRY_AFTER_SECONDS };
    return (own.calls + calls) * 2 > maxCalls || (own.bytes + bytes) * 2 > maxBytes
      ? new Fault(
          "rate-limited",
          "This account reads too much from its metastore at the same time. Try again when other requests have finished.",
          details,
        )
      : new Fault("unavailable", "Too much data is being read from external metastores. Try again shortly.", details);
  }

  #useOf(accountId: number): Use {
    return this.#accounts.get(accountId) ?? { calls: 0, bytes: 0 };
  }

  #take(accountId: number, calls: number, bytes: number): void {
    const own = this.#useOf(accountId);
    this.#accounts.set(accountId, own);
    for (const use of [own, this.#total]) {
      use.calls += calls;
      use.bytes += bytes;
    }
  }

  #free(accountId: number, calls: number, bytes: number): void {
    if (calls === 0 && bytes === 0) return;
    this.#take(accountId, -calls, -bytes);
    const own = this.#useOf(accountId);
    if (own.calls === 0 && own.bytes === 0) this.#accounts.delete(accountId);
    for (const waiting of this.#waiting) {
      if (this.#hasRoom(waiting.accountId, 1, STEP_BYTES)) waiting.begin();
    }
  }
}
