import { existsSync } from "node:fs";
import { join } from "node:path";
import { installCommandHere, isExecutable } from "../../lib/system-programs.ts";
import { runTool } from "../../processes/set-up/run-tool.ts";

/** The paths of R that are visible in a sandbox, in order of preference. */
export const rscripts = ["/usr/bin/Rscript", "/usr/local/bin/Rscript", "/opt/homebrew/bin/Rscript"];

/**
 * R programs use Spark through SparkR if it is included, else through PySpark and reticulate. R is searched for
 * whenever it is needed, because it may have been installed meanwhile.
 */
export type RSupport =
  | { readonly kind: "sparkr" | "reticulate" }
  /** `reason` is for users and ends with a remedy. */
  | { readonly kind: "missing"; readonly reason: string };

let foundReticulate = false;

export async function findR(sparkHome: string, candidates: readonly string[] = rscripts): Promise<RSupport> {
  const rscript = candidates.find(isExecutable);
  if (rscript === undefined) return { kind: "missing", reason: `R is not installed: ${howToInstall()}` };
  if (existsSync(join(sparkHome, "R/lib/SparkR"))) return { kind: "sparkr" };
  foundReticulate ||= await hasReticulate(rscript);
  if (foundReticulate) return { kind: "reticulate" };
  return { kind: "missing", reason: `R lacks the package reticulate, which it needs for Spark: ${howToInstall()}` };
}

async function hasReticulate(rscript: string): Promise<boolean> {
  const question = 'quit(status = if (nzchar(system.file(package = "reticulate"))) 0 else 1)';
  const { exitCode } = await runTool([rscript, "-e", question], { cwd: "/", timeoutMs: 20_000 });
  return exitCode === 0;
}

function howToInstall(): string {
  const line = installCommandHere({
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
