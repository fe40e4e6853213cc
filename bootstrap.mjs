/**
 * Runs before every npm script of this repository, perhaps on an older system Node and before anything is installed.
 * Therefore it is plain JavaScript and uses only built-in modules. It makes node_modules match the lockfile; if it does
 * already, it prints and writes nothing (the checkout may be read-only then).
 *
 *   node bootstrap.mjs start | admin | setup   the packages of the server; installed development packages stay
 *   node bootstrap.mjs test                    all packages
 */
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { inspectInstallation } from "./bootstrap/installation.mjs";

const repositoryDir = dirname(fileURLToPath(import.meta.url));
const command = process.argv[2];

if (!["start", "admin", "setup", "test"].includes(command)) {
  process.stderr.write("usage: node bootstrap.mjs start|admin|setup|test\n");
  process.exit(2);
}

const needsDevelopment = command === "test";
if (!inspectInstallation(repositoryDir, needsDevelopment).complete) {
  // Loaded only when needed, because most runs have nothing to do.
  const { setUp } = await import("./bootstrap/set-up.mjs");
  process.exit(await setUp(repositoryDir, needsDevelopment));
}
