import { accessSync, constants, existsSync } from "node:fs";
import { join } from "node:path";
import { stateDir } from "./installation.mjs";
import { SetUpError } from "./set-up-error.mjs";

const oldestNode = 18;

/** Checks the prerequisites of npm. Throws for the first one that is missing, with a remedy. */
export function checkPrerequisites(repositoryDir) {
  checkMachine();
  if (Number.parseInt(process.versions.node, 10) < oldestNode) {
    throw new SetUpError(
      `Node ${process.versions.node} is too old for the installation; ${oldestNode} or newer is needed.`,
      "Install a newer Node from your distribution or your version manager. The server comes with its own Node.",
    );
  }
  for (const path of [repositoryDir, join(repositoryDir, "node_modules"), stateDir(repositoryDir)]) {
    if (existsSync(path)) checkWritable(path);
  }
}

function checkMachine() {
  const { platform, arch } = process;
  const machine = `${platform}-${arch}`;
  if (!["linux-x64", "linux-arm64", "darwin-x64", "darwin-arm64"].includes(machine)) {
    throw new SetUpError(
      `There is no embedded PostgreSQL for ${machine}.`,
      "Headgate runs on Linux (glibc) and macOS, on x64 and arm64 processors.",
    );
  }
  if (platform === "linux" && !process.report.getReport().header.glibcVersionRuntime) {
    throw new SetUpError(
      "This system's C library is not glibc.",
      "The embedded PostgreSQL needs glibc: use Debian, Ubuntu, Fedora or the like, or deploy/Containerfile.",
    );
  }
}

function checkWritable(path) {
  try {
    accessSync(path, constants.W_OK | constants.X_OK);
  } catch (error) {
    const user = process.env.USER || `uid ${process.getuid()}`;
    throw new SetUpError(
      `${path} is not writable for ${user} (${error.code}), but packages have to be installed there.`,
      "Run `npm run setup` once as the owner of the checkout, make it yours with `chown -R`, or clone it again.",
    );
  }
}
