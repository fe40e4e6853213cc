import { enableCompileCache, flushCompileCache } from "node:module";
import { fileURLToPath } from "node:url";

// The program of `spawner.ts`. As with the runner's, the cache spares the memory in which types would be stripped.
enableCompileCache(fileURLToPath(new URL("../../../../node_modules/.cache/headgate", import.meta.url)));
await import("./spawner-main.ts");
flushCompileCache();
