export interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

/** A server needs some time to recover from an outage, and so do its clients. */
const RECOVERY_MS = 2000;
/** Renewals are some time apart, and the watch sees each of them with a delay. */
const SLACK_MS = 1000;
/** Within this time after an outage, the nodes notice what ended during it and store that. */
const SETTLED_MS = 15_000;

interface Renewals {
  lastMs: number;
  readonly gaps: Span[];
}

/**
 * When nodes and the Spark server were away: the outages that faults caused, and the gaps between the renewals of a
 * node's lease. Times are in milliseconds of this machine's wall clock. Pure except for the clock that is passed in.
 */
export class Outages {
  readonly #now: () => number;
  readonly #open = new Map<object, { readonly part: string; readonly fromMs: number }>();
  readonly #ended: (Span & { readonly part: string })[] = [];
  readonly #renewals = new Map<number, Renewals>();
  /** The machine is so busy that nodes may fail to renew their leases in time without any fault. */
  isOverloaded = false;

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  /** A fault begins to keep nodes (by index) or the Spark server away. Call the returned function when it ends. */
  begin(parts: readonly (number | "spark")[]): () => void {
    const ends = parts.map((part) => {
      const key = {};
      const begun = { part: String(part), fromMs: this.#now() };
      this.#open.set(key, begun);
      return (): void => {
        if (this.#open.delete(key)) this.#ended.push({ ...begun, toMs: this.#now() });
      };
    });
    return () => ends.forEach((end) => end());
  }

  /** The watch has seen that the node renewed its lease at that time. */
  noteRenewal(node: number, atMs: number): void {
    const known = this.#renewals.get(node) ?? { lastMs: atMs, gaps: [] };
    this.#renewals.set(node, known);
    if (atMs - known.lastMs > SLACK_MS) known.gaps.push({ fromMs: known.lastMs, toMs: atMs });
    known.lastMs = Math.max(known.lastMs, atMs);
  }

  /** Whether an attempt on the node may have ended because a fault kept the node from its lease for this long. */
  wasAwayFor(node: number, ran: Span, lengthMs: number): boolean {
    const { lastMs = Infinity, gaps = [] } = this.#renewals.get(node) ?? {};
    const ours = this.#of(String(node));
    return [...gaps, { fromMs: lastMs, toMs: this.#now() }].some((gap) => {
      const overMs = gap.fromMs + lengthMs - SLACK_MS;
      const isCause = gap.toMs >= overMs && ran.fromMs <= gap.toMs;
      const isEffect = ran.toMs >= overMs && ran.toMs <= gap.toMs + SETTLED_MS;
      return isCause && isEffect && (this.isOverloaded || ours.some((outage) => overlaps(outage, gap)));
    });
  }

  /** Whether an attempt that ran at that time may have lost its Spark server. */
  sparkWasAway(ran: Span): boolean {
    return this.#of("spark").some((outage) => overlaps(outage, ran));
  }

  #of(wanted: string): Span[] {
    const open = [...this.#open.values()].map((each) => ({ ...each, toMs: this.#now() }));
    return [...this.#ended, ...open].filter(({ part }) => part === wanted);
  }
}

function overlaps(outage: Span, other: Span): boolean {
  return outage.fromMs <= other.toMs && outage.toMs + RECOVERY_MS >= other.fromMs;
}
