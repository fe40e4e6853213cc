import "../run-folder.ts";
import { makeScratchStore } from "../../server/test/support/scratch-store.ts";
import { startBenchNode, type BenchNode } from "../commands/bench-node.ts";
import { benchAudit } from "./audit.ts";
import { benchFolderTree } from "./folder-tree.ts";
import { benchNotebooks } from "./notebooks.ts";

const PARTS: Readonly<Record<string, (node: BenchNode) => Promise<boolean>>> = {
  notebooks: benchNotebooks,
  folders: benchFolderTree,
  audit: benchAudit,
};

const HELP = `npm run bench:policy -- [notebooks] [folders] [audit]

Without an argument, all parts run. Each figure is a ratio to a baseline that is measured alternately in the same run.
The exit code is 1 if a ratio is above its limit.
`;

const named = process.argv.slice(2);
if (named.includes("--help")) process.stdout.write(HELP);
else await benchAll();

async function benchAll(): Promise<void> {
  const unknown = named.filter((name) => !(name in PARTS));
  if (unknown.length > 0)
    throw new Error(`unknown part: ${unknown.join(" ")}; use one of ${Object.keys(PARTS).join(", ")}`);
  const store = await makeScratchStore();
  try {
    const node = await startBenchNode(store, "policy", { HEADGATE_RATE_LIMIT: "0" });
    try {
      for (const [name, bench] of Object.entries(PARTS)) {
        if (named.length > 0 && !named.includes(name)) continue;
        if (!(await bench(node))) process.exitCode = 1;
      }
    } finally {
      await node.stop();
    }
  } finally {
    await store.dispose();
  }
}
