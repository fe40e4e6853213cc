import { enableCompileCache, flushCompileCache } from "node:module";
import { fileURLToPath } from "node:url";

// Entry point of the spawner (`spawner.ts`). As for the runner, the compile cache saves the memory for stripping types.
enableCompileCache(fileURLToPath(new URL("../../../../node_modules/.cache/headgate", import.meta.url)));
await import("./spawner-main.ts");
flushCompileCache();
