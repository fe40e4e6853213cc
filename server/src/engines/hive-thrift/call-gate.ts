/** Limits calls, and the memory of their answers, across all metastores. The pool enters it before each call. */
export interface CallGate {
  /** Waits until the call is admitted. */
  enter(signal: AbortSignal): Promise<AdmittedCall>;
}

export interface AdmittedCall extends HeldAnswer {
  /** Reserves memory for a part of the answer before it is read. Throws if none is left. */
  pay(bytes: number): void;
  /** Ends the call; its answer still counts as in memory. */
  end(): void;
}

/** An answer that counts as in memory until it is released. */
export interface HeldAnswer {
  /** May be called again without effect. */
  release(): void;
}

/** Takes over the answer of a successful call and must release it. Without it, an answer counts until the call ends. */
export type KeepAnswer = (held: HeldAnswer) => void;

export function keepUntil(signal: AbortSignal): KeepAnswer {
  return (held) => {
    if (signal.aborted) held.release();
    else signal.addEventListener("abort", () => held.release(), { once: true });
  };
}
