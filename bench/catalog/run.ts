import { startHeadgate, type BenchHeadgate } from "../headgate.ts";
import { benchListing } from "./listing.ts";
import { benchRefresh } from "./refresh.ts";
import { benchSensor } from "./sensor.ts";
import { benchWaiters } from "./waiters.ts";

/**
 * `node bench/catalog/run.ts [listing] [sensor] [waiters] [refresh]`: all parts without an argument, on one Headgate. Each
 * figure stands beside what it is compared with, measured in the same run.
 */
const PARTS: Readonly<Record<string, (headgate: BenchHeadgate) => Promise<void>>> = {
  listing: benchListing,
  sensor: benchSensor,
  waiters: benchWaiters,
  refresh: benchRefresh,
};

const named = process.argv.slice(2);
const unknown = named.filter((word) => !(word in PARTS));
if (unknown.length > 0)
  throw new Error(`no such part: ${unknown.join(" ")}; there are ${Object.keys(PARTS).join(", ")}`);

// One part speaks to a metastore that an account has brought, which is on this machine.
const headgate = await startHeadgate({ HEADGATE_ALLOWED_NETWORKS: "127.0.0.0/8" });
try {
  for (const [part, bench] of Object.entries(PARTS)) {
    if (named.length === 0 || named.includes(part)) await bench(headgate);
  }
} finally {
  await headgate.stop();
}
