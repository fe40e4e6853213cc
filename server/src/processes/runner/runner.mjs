import { enableCompileCache, flushCompileCache } from "node:module";
import { fileURLToPath } from "node:url";

// The runner's program: `node runner.mjs <folder>`. The compile cache avoids type stripping and compilation, which nearly
// halves the private memory of each runner (to 12 MB). Nothing is imported later, because an upgrade may replace the
// files while it runs.
enableCompileCache(fileURLToPath(new URL("../../../../node_modules/.cache/headgate", import.meta.url)));
const { runFolder } = await import("./main.ts");
flushCompileCache();
await runFolder(process.argv[2]);
process.exit(0);
