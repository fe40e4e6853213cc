import { median, timed } from "../measure.ts";

const WARM_UP = 30;
const SAMPLES = 300;

export interface Side {
  readonly title: string;
  readonly work: (sample: number) => Promise<unknown>;
}

/** Measures both sides alternately and prints how much longer `side` takes. False: above the limit. */
export async function compare(title: string, side: Side, base: Side, maxRatio: number): Promise<boolean> {
  const times: [number[], number[]] = [[], []];
  const sides: [Side, number[]][] = [
    [side, times[0]],
    [base, times[1]],
  ];
  for (let sample = -WARM_UP; sample < SAMPLES; sample += 1) {
    for (const [{ work }, taken] of sample % 2 === 0 ? sides : sides.toReversed()) {
      const milliseconds = await timed(() => work(sample + WARM_UP));
      if (sample >= 0) taken.push(milliseconds);
    }
  }
  const [one, other] = [median(times[0]), median(times[1])];
  const ratio = one / other;
  const isWithinLimit = ratio <= maxRatio;
  console.log(
    `${isWithinLimit ? "yes" : "NO "} ${title}: ${ratio.toFixed(2)}× (at most ${maxRatio}×): ` +
      `${side.title} ${one.toFixed(2)} ms, ${base.title} ${other.toFixed(2)} ms`,
  );
  return isWithinLimit;
}
