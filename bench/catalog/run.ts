/**
 * `node bench/catalog/run.ts [listing] [sensor] [waiters] [refresh]`: without an argument all parts, on one Headgate.
 * Each figure is printed with its baseline, measured in the same run.
 */
import "../run-folder.ts";
import { startHeadgate, type BenchHeadgate } from "../headgate.ts";
import { benchListing } from "./listing.ts";
import { benchRefresh } from "./refresh.ts";
import { benchSensor } from "./sensor.ts";
import { benchWaiters } from "./waiters.ts";

const PARTS: Readonly<Record<string, (headgate: BenchHeadgate) => Promise<void>>> = {
  listing: benchListing,
  sensor: benchSensor,
  waiters: benchWaiters,
  refresh: benchRefresh,
};

const named = process.argv.slice(2);
const unknown = named.filter((word) => !(word in PARTS));
if (unknown.length > 0)
  throw new Error(`unknown part: ${unknown.join(" ")}; use one of ${Object.keys(PARTS).join(", ")}`);

// One part uses an external metastore, which is on this machine.
const headgate = await startHeadgate({ HEADGATE_ALLOWED_NETWORKS: "127.0.0.0/8" });
try {
  for (const [part, bench] of Object.entries(PARTS)) {
    if (named.length === 0 || named.includes(part)) await bench(headgate);
  }
} finally {
  await headgate.stop();
}
