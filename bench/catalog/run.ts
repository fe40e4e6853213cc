import { startHeadgate, type BenchHeadgate } from "../headgate.ts";
import { benchListing } from "./listing.ts";
import { benchSensor } from "./sensor.ts";
import { benchWaiters } from "./waiters.ts";

/**
 * `node bench/catalog/run.ts [listing] [sensor] [waiters] …`: all parts without an argument, on one Headgate. Each figure stands beside what
 * it is compared with, measured in the same run.
 */
const PARTS: Readonly<Record<string, (headgate: BenchHeadgate) => Promise<void>>> = {
  listing: benchListing,
  sensor: benchSensor,
  waiters: benchWaiters,
};

const named = process.argv.slice(2);
const unknown = named.filter((word) => !(word in PARTS));
if (unknown.length > 0)
  throw new Error(`no such part: ${unknown.join(" ")}; there are ${Object.keys(PARTS).join(", ")}`);

const headgate = await startHeadgate();
try {
  for (const [part, bench] of Object.entries(PARTS)) {
    if (named.length === 0 || named.includes(part)) await bench(headgate);
  }
} finally {
  await headgate.stop();
}
