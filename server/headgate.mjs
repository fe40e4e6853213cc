import { enableCompileCache } from "node:module";
import { fileURLToPath } from "node:url";

// The program. Plain JavaScript, so that the cache is on before the first TypeScript file is read: a second start then
// neither strips types nor compiles, which saves most of its time and 30 MB. Where it cannot be written, all still works.
enableCompileCache(fileURLToPath(new URL("../node_modules/.cache/headgate", import.meta.url)));
await import("./src/main.ts");
