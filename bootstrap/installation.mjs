import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/**
 * What is known about node_modules, kept in a folder inside it (npm leaves dot-folders alone), so that removing
 * node_modules also forgets it:
 *
 *   .headgate/installed.json   the hash of what was asked for and of npm's own record of what it installed
 *   .headgate/unfinished.json  npm is at work, or was killed at it: its folders may hold half a package, which a second
 *                              `npm install` takes for a whole one
 *   .headgate/lock/            who installs, and who waits (lock.mjs)
 */
export const stateDir = (repositoryDir) => join(repositoryDir, "node_modules/.headgate");
export const nodeBinary = (repositoryDir) => join(repositoryDir, "node_modules/.bin/node");
const stampFile = (repositoryDir) => join(stateDir(repositoryDir), "installed.json");
const unfinishedFile = (repositoryDir) => join(stateDir(repositoryDir), "unfinished.json");
const npmRecordFile = (repositoryDir) => join(repositoryDir, "node_modules/.package-lock.json");

/** `complete` says that nothing is to do; `development`, whether an installation has to bring those packages. */
export function inspectInstallation(repositoryDir, needsDevelopment) {
  const stamp = readJson(stampFile(repositoryDir)) || {};
  const unfinished = readJson(unfinishedFile(repositoryDir));
  const packages = (readJson(npmRecordFile(repositoryDir)) || {}).packages || {};
  // The record, not only the stamp: whoever ran `npm install` by hand has them too, and wants to keep them.
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

/** Everything but our own state, which holds the lock under which this runs. */
export function removePackages(repositoryDir) {
  const root = join(repositoryDir, "node_modules");
  for (const name of readdirSync(root)) {
    if (name !== ".headgate") rmSync(join(root, name), { recursive: true, force: true });
  }
}

/** The machine counts too: a checkout shared with a container needs other binaries there. */
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
    if (error instanceof SyntaxError) return {}; // torn by a crash: it is there, and says nothing
    throw error;
  }
}

function writeJson(path, value) {
  mkdirSync(join(path, ".."), { recursive: true });
  writeFileSync(`${path}.new`, `${JSON.stringify(value)}\n`);
  renameSync(`${path}.new`, path);
}
