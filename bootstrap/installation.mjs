/**
 * The state of node_modules, in a folder inside it (npm ignores dot-folders), so that it is removed with node_modules:
 *
 *   .headgate/installed.json   the hashes of the requested packages and of npm's own record of the installed ones
 *   .headgate/unfinished.json  npm is running or was killed: its folders may contain incomplete packages, which a second
 *                              `npm install` would accept
 *   .headgate/lock/            the processes that install or wait (lock.mjs)
 */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export const stateDir = (repositoryDir) => join(repositoryDir, "node_modules/.headgate");
export const nodeBinary = (repositoryDir) => join(repositoryDir, "node_modules/.bin/node");
const stampFile = (repositoryDir) => join(stateDir(repositoryDir), "installed.json");
const unfinishedFile = (repositoryDir) => join(stateDir(repositoryDir), "unfinished.json");
const npmRecordFile = (repositoryDir) => join(repositoryDir, "node_modules/.package-lock.json");

/** `complete`: nothing has to be installed. `development`: an installation has to include the development packages. */
export function inspectInstallation(repositoryDir, needsDevelopment) {
  const stamp = readJson(stampFile(repositoryDir)) || {};
  const unfinished = readJson(unfinishedFile(repositoryDir));
  const packages = (readJson(npmRecordFile(repositoryDir)) || {}).packages || {};
  // npm's record is read too, because development packages that were installed by hand must stay.
  const hasDevelopment = Object.values(packages).some((entry) => entry.dev === true);
  const wasDevelopment = Boolean(unfinished && unfinished.development);
  const complete =
    unfinished === null &&
    stamp.hash === wantedHash(repositoryDir) &&
    stamp.record === fileHash(npmRecordFile(repositoryDir)) &&
    (stamp.development === true || !needsDevelopment) &&
    existsSync(nodeBinary(repositoryDir)) &&
    Object.keys(packages).every((path) => existsSync(join(repositoryDir, path, "package.json")));
  return {
    complete,
    unfinished: unfinished !== null,
    development: needsDevelopment || hasDevelopment || wasDevelopment,
  };
}

export function markUnfinished(repositoryDir, development) {
  writeJson(unfinishedFile(repositoryDir), { development });
}

export function markInstalled(repositoryDir, development) {
  const record = fileHash(npmRecordFile(repositoryDir));
  writeJson(stampFile(repositoryDir), { hash: wantedHash(repositoryDir), record, development });
}

export function clearUnfinished(repositoryDir) {
  rmSync(unfinishedFile(repositoryDir), { force: true });
}

/** Removes everything but our own state, which contains the lock of this process. */
export function removePackages(repositoryDir) {
  const root = join(repositoryDir, "node_modules");
  for (const name of readdirSync(root)) {
    if (name !== ".headgate") rmSync(join(root, name), { recursive: true, force: true });
  }
}

/** Includes the platform, because a checkout that is shared with a container needs other binaries there. */
function wantedHash(repositoryDir) {
  const { workspaces = [] } = readJson(join(repositoryDir, "package.json")) || {};
  const hash = createHash("sha256").update(`${process.platform} ${process.arch}`);
  for (const path of ["package-lock.json", "package.json", ...workspaces.map((name) => `${name}/package.json`)]) {
    hash.update(`\n${path} ${fileHash(join(repositoryDir, path))}`);
  }
  return hash.digest("hex");
}

function fileHash(path) {
  return existsSync(path) ? createHash("sha256").update(readFileSync(path)).digest("hex") : "absent";
}

function readJson(path) {
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch (error) {
    if (error.code === "ENOENT" || error.code === "ENOTDIR") return null;
    if (error instanceof SyntaxError) return {}; // truncated by a crash
    throw error;
  }
}

function writeJson(path, value) {
  mkdirSync(join(path, ".."), { recursive: true });
  writeFileSync(`${path}.new`, `${JSON.stringify(value)}\n`);
  renameSync(`${path}.new`, path);
}
