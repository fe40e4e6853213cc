/** When a part of the installation was away: by our doing, and by the leases that nodes renew. */
export interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

/** A killed server takes a while to come to itself, and so does what waits for it. */
const RECOVERY_MS = 2000;
/** Renewals are some time apart, and are seen some time after they were made. */
const SLACK_MS = 1000;
/** By then the remaining nodes have noticed what ended during the outage and have stored it. */
const SETTLED_MS = 15_000;

interface Renewals {
  lastMs: number;
  readonly gaps: Span[];
}

/** Times are those of the wall clock of this machine, in milliseconds. Pure but for the clock that is passed in. */
export class Outages {
  readonly #now: () => number;
  readonly #open = new Map<object, { readonly part: string; readonly fromMs: number }>();
  readonly #ended: (Span & { readonly part: string })[] = [];
  readonly #renewals = new Map<number, Renewals>();
  /** The machine has so much else to do that nodes may miss their leases by themselves. */
  isOverloaded = false;

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  /** We take nodes away, by their places in the list, or the Spark server. The answer ends it. */
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

  /** The node was seen to have renewed its lease at that time. */
  noteRenewal(node: number, atMs: number): void {
    const known = this.#renewals.get(node) ?? { lastMs: atMs, gaps: [] };
    this.#renewals.set(node, known);
    if (atMs - known.lastMs > SLACK_MS) known.gaps.push({ fromMs: known.lastMs, toMs: atMs });
    known.lastMs = Math.max(known.lastMs, atMs);
  }

  /** Whether what ran on the node in that time may have ended because we kept the node from its lease for so long. */
  wasAwayFor(node: number, ran: Span, lengthMs: number): boolean {
    const { lastMs = Infinity, gaps = [] } = this.#renewals.get(node) ?? {};
    const ours = this.#of(String(node));
    return [...gaps, { fromMs: lastMs, toMs: this.#now() }].some((gap) => {
      const overMs = gap.fromMs + lengthMs - SLACK_MS;
      const isCause = gap.toMs >= overMs && ran.fromMs <= gap.toMs;
      const isEffect = ran.toMs >= overMs && ran.toMs <= gap.toMs + SETTLED_MS;
      return isCause && isEffect && (this.isOverloaded || ours.some((outage) => meet(outage, gap)));
    });
  }

  /** Whether something that ran in that time may have lost its Spark server. */
  sparkWasAway(ran: Span): boolean {
    return this.#of("spark").some((outage) => meet(outage, ran));
  }

  #of(wanted: string): Span[] {
    const open = [...this.#open.values()].map((each) => ({ ...each, toMs: this.#now() }));
    return [...this.#ended, ...open].filter(({ part }) => part === wanted);
  }
}

function meet(outage: Span, other: Span): boolean {
  return outage.fromMs <= other.toMs && outage.toMs + RECOVERY_MS >= other.fromMs;
}
