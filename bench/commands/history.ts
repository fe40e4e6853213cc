import type { ScratchStore } from "../../server/test/support/scratch-store.ts";
import { median, percentile } from "../measure.ts";
import { startBenchNode, type BenchNode } from "./bench-node.ts";
import { COMMON_TAG, seedHistory, SPARSE_TAG } from "./seed-history.ts";

const SMALL = 10_000;
const LARGE = 1_000_000;
const WARM_UP = 30;
const SAMPLES = 400;
const CURVE_SAMPLES = 5;
const DEPTHS = [1, 100, 1_000, 10_000, 50_000, 99_999];

/** Queries of the history. `random` returns the number of a command. */
const WAYS: Record<string, (random: () => number) => string> = {
  "first page": () => "",
  "first page of all users": () => "?all_users=1",
  "any depth by after": (random) => `?after=${random()}`,
  "any depth by after, all users": (random) => `?all_users=1&after=${random()}`,
  "sparse tag": () => `?all_users=1&tags=${SPARSE_TAG}`,
  "common tag, any depth by after": (random) => `?all_users=1&tags=${COMMON_TAG}&after=${random()}`,
};

/** GET commands over a small and a large history, alternating after each request. */
export async function benchHistory(store: ScratchStore): Promise<void> {
  const small = await startBenchNode(store, "small");
  const large = await startBenchNode(store, "large");
  try {
    await seedHistory(small, SMALL);
    await seedHistory(large, LARGE);
    for (const [name, query] of Object.entries(WAYS)) await compare(name, query, small, large);
    await curve(large);
  } finally {
    await small.stop();
    await large.stop();
  }
}

async function compare(
  name: string,
  query: (random: () => number) => string,
  small: BenchNode,
  large: BenchNode,
): Promise<void> {
  const times: [number[], number[]] = [[], []];
  const sides: [BenchNode, number, number[]][] = [
    [small, SMALL, times[0]],
    [large, LARGE, times[1]],
  ];
  for (let sample = -WARM_UP; sample < SAMPLES; sample += 1) {
    for (const [node, count, taken] of sample % 2 === 0 ? sides : sides.toReversed()) {
      // In the upper part, so that a whole page follows.
      const milliseconds = await timed(
        node,
        query(() => Math.ceil((0.1 + 0.9 * Math.random()) * count)),
      );
      if (sample >= 0) taken.push(milliseconds);
    }
  }
  const [of10k, of1M] = [percentile(times[0], 0.99), percentile(times[1], 0.99)];
  console.log(
    `history, ${name}: p99 ${of1M.toFixed(1)} ms of 1 M commands, ${of10k.toFixed(1)} ms of 10 k, ` +
      `ratio ${(of1M / of10k).toFixed(2)} (p50 ${median(times[1]).toFixed(1)} and ${median(times[0]).toFixed(1)} ms)`,
  );
}

/** The cost of deep pages for clients that do not use the cursor. */
async function curve(node: BenchNode): Promise<void> {
  const points: string[] = [];
  for (const page of DEPTHS) {
    const taken: number[] = [];
    for (let sample = 0; sample < CURVE_SAMPLES; sample += 1)
      taken.push(await timed(node, `?all_users=1&page=${page}`));
    points.push(`${page}: ${median(taken).toFixed(1)}`);
  }
  console.log(`history of 1 M commands by page of 10, median ms at page ${points.join(", ")}`);
}

async function timed(node: BenchNode, query: string): Promise<number> {
  const began = performance.now();
  const { commands } = (await node.get(`/commands${query}`)) as { commands: unknown[] }; // the list of §4.6
  const taken = performance.now() - began;
  if (commands.length !== 10) throw new Error(`${query} shows ${commands.length} commands`);
  return taken;
}
