/**
 * `node bench/commands/run.ts [submissions] [queue] [history] [cold-start] [--seconds=2]`: without an argument all
 * parts. Each figure is printed with its baseline, measured alternately in the same run.
 */
import "../run-folder.ts";
import { makeScratchStore } from "../../server/test/support/scratch-store.ts";
import { benchColdStart } from "./cold-start.ts";
import { benchHistory } from "./history.ts";
import { benchQueue } from "./queue.ts";
import { benchSubmissions } from "./submissions.ts";

const PARTS = ["submissions", "queue", "history", "cold-start"] as const;
type Part = (typeof PARTS)[number];

const words = process.argv.slice(2);
const seconds = Number(words.find((word) => word.startsWith("--seconds="))?.split("=")[1] ?? 2);
const named = words.filter((word) => !word.startsWith("--"));
const unknown = named.filter((word) => !PARTS.some((part) => part === word));
if (unknown.length > 0) throw new Error(`unknown part: ${unknown.join(" ")}; use one of ${PARTS.join(", ")}`);

for (const part of PARTS) if (named.length === 0 || named.includes(part)) await bench(part);

async function bench(part: Part): Promise<void> {
  if (part === "cold-start") return benchColdStart();
  const store = await makeScratchStore();
  try {
    switch (part) {
      case "submissions":
        return await benchSubmissions(store, seconds);
      case "queue":
        return await benchQueue(store);
      case "history":
        return await benchHistory(store);
    }
  } finally {
    await store.dispose();
  }
}
