import { startHeadgate, type BenchHeadgate } from "../headgate.ts";
import { median, timed } from "../measure.ts";
import { byHand, sparkHome } from "../spark-by-hand.ts";
import { SELECT_1, sqlCommand } from "./warm-server.ts";

const ROUNDS = 3;
/** Many, because a JVM gets faster for a while. */
const WARM_QUERIES = 40;

/** The first query after the cluster was down, alternating with `spark-sql -e` by hand. */
export async function benchFirst(): Promise<void> {
  const home = await sparkHome();
  const headgate = await startHeadgate();
  try {
    const [first, warm, hand]: [number[], number[], number[]] = [[], [], []];
    for (let round = -1; round < ROUNDS; round += 1) {
      const times = [
        await timed(() => headgate.run(sqlCommand(SELECT_1))),
        await warmTime(headgate),
        await timed(() => byHand(home, headgate.folder, "spark-sql", ["-e", SELECT_1])),
      ] as const;
      await terminate(headgate);
      if (round < 0) continue;
      first.push(times[0]);
      warm.push(times[1]);
      hand.push(times[2]);
    }
    const by = median(hand);
    console.log(
      `first SQL after idle: ${(median(first) / 1000).toFixed(2)} s, spark-sql -e ${(by / 1000).toFixed(2)} s, ratio ${(median(first) / by).toFixed(2)}; ` +
        `warm ${median(warm).toFixed(0)} ms, ${(by / median(warm)).toFixed(0)} times faster`,
    );
  } finally {
    await headgate.stop();
  }
}

/**
 * The first query of an account, which has no metastore yet, alternating with `spark-sql -e` by hand, which creates an
 * embedded one.
 */
export async function benchNewAccount(): Promise<void> {
  const home = await sparkHome();
  const [ours, hand]: [number[], number[]] = [[], []];
  for (let round = -1; round < ROUNDS; round += 1) {
    const headgate = await startHeadgate();
    try {
      const first = await timed(() => headgate.run(sqlCommand(SELECT_1)));
      const by = await timed(() => byHand(home, headgate.folder, "spark-sql", ["-e", SELECT_1]));
      if (round < 0) continue;
      ours.push(first);
      hand.push(by);
    } finally {
      await headgate.stop();
    }
  }
  const [first, by] = [median(ours), median(hand)];
  console.log(
    `first SQL of an account: ${(first / 1000).toFixed(2)} s, spark-sql -e ${(by / 1000).toFixed(2)} s, ratio ${(first / by).toFixed(2)}`,
  );
}

/** The median time of the later queries. */
async function warmTime(headgate: BenchHeadgate): Promise<number> {
  const times: number[] = [];
  while (times.length < WARM_QUERIES) times.push(await timed(() => headgate.run(sqlCommand(SELECT_1))));
  return median(times.slice(WARM_QUERIES / 2));
}

async function terminate({ call }: BenchHeadgate): Promise<void> {
  await call("PUT", "/clusters/default/state", { state: "terminate", force: true });
  for (;;) {
    const { state } = await call<{ state: string }>("GET", "/clusters/default/state");
    if (state === "DOWN") return;
  }
}
