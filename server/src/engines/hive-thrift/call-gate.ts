/** Limits how much is read at the same time, whatever the metastore. The pool asks it before each call. */
export interface CallGate {
  /** Waits for a place. */
  enter(signal: AbortSignal): Promise<AdmittedCall>;
}

export interface AdmittedCall extends HeldAnswer {
  /** Pays for a part of the answer before it is read. Throws when there is no memory left for it. */
  pay(bytes: number): void;
  /** Frees the place; the answer still counts. */
  end(): void;
}

/** An answer that counts as in memory. */
export interface HeldAnswer {
  /** Nothing happens the second time. */
  release(): void;
}

/** Receives the answer of a call that succeeded, and releases it. Without it, an answer counts until the call ends. */
export type KeepAnswer = (held: HeldAnswer) => void;

export function keepUntil(signal: AbortSignal): KeepAnswer {
  return (held) => {
    if (signal.aborted) held.release();
    else signal.addEventListener("abort", () => held.release(), { once: true });
  };
}
