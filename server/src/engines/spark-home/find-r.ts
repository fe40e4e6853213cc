import { existsSync } from "node:fs";
import { join } from "node:path";
import { installLineHere } from "../../lib/install-line.ts";
import { isExecutable } from "../../lib/is-executable.ts";
import { runTool } from "../set-up/run-tool.ts";

/** Where R may be: where a sandbox shows it, in the order in which it is taken. */
export const rscripts = ["/usr/bin/Rscript", "/usr/local/bin/Rscript", "/opt/homebrew/bin/Rscript"];

/**
 * How R programs reach Spark: by SparkR, where the Spark has it, else by Python's Spark through reticulate. R is looked
 * for whenever it is needed: it may have been installed since the last time.
 */
export type RSupport =
  | { readonly kind: "sparkr" | "reticulate" }
  /** `reason` is for people and ends with what to do. */
  | { readonly kind: "missing"; readonly reason: string };

let foundReticulate = false;

export async function findR(sparkHome: string, candidates: readonly string[] = rscripts): Promise<RSupport> {
  const rscript = candidates.find(isExecutable);
  if (rscript === undefined) return { kind: "missing", reason: `R is not installed: ${howToInstall()}` };
  if (existsSync(join(sparkHome, "R/lib/SparkR"))) return { kind: "sparkr" };
  foundReticulate ||= await hasReticulate(rscript);
  if (foundReticulate) return { kind: "reticulate" };
  return { kind: "missing", reason: `R lacks the package reticulate, by which it reaches Spark: ${howToInstall()}` };
}

async function hasReticulate(rscript: string): Promise<boolean> {
  const question = 'quit(status = if (nzchar(system.file(package = "reticulate"))) 0 else 1)';
  const { exitCode } = await runTool([rscript, "-e", question], { cwd: "/", timeoutMs: 20_000 });
  return exitCode === 0;
}

function howToInstall(): string {
  const line = installLineHere({
    apt: "r-base-core r-cran-reticulate",
    dnf: "R-core R-reticulate",
    zypper: "R-base",
    pacman: "r",
    apk: "R",
    brew: "r",
  });
  const fetchIt = "R -e 'install.packages(\"reticulate\")'";
  if (line === undefined) return `install R with the package manager of this system, and run ${fetchIt}`;
  return line.includes("reticulate") ? `run ${line}` : `run ${line} and ${fetchIt}`;
}
