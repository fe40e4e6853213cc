/**
 * Every benchmark imports this file first. It gives the benchmark and the programs that it starts a temporary folder of
 * their own, so that what is left of them ends with the benchmark, even if that is killed.
 */
import { chmodSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { endWithThisProcess } from "../server/test/support/run-folders.ts";

const folder = mkdtempSync(join(tmpdir(), "headgate-bench-run-"));
chmodSync(folder, 0o755);
process.env.TMPDIR = folder;
endWithThisProcess([folder]);
