/**
 * Runs before every npm script of this repository, maybe on an older system Node and before anything is installed: so
 * plain JavaScript on built-ins. It brings node_modules in line with the lockfile and then gets out of the way; when
 * nothing is to do it says nothing and writes nothing (the checkout may be read-only then).
 *
 *   node bootstrap.mjs start | admin | setup   what the server needs; development packages that are there stay
 *   node bootstrap.mjs test                    everything
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
  // Loaded only now: the run with nothing to do shall cost no more than it must.
  const { setUp } = await import("./bootstrap/set-up.mjs");
  process.exit(await setUp(repositoryDir, needsDevelopment));
}
