import { spawnSync } from "node:child_process";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { constants } from "node:os";
import {
  clearUnfinished,
  inspectInstallation,
  markInstalled,
  markUnfinished,
  nodeBinary,
  removePackages,
  stateDir,
} from "./installation.mjs";
import { InstallLock } from "./lock.mjs";
import { explainFailure, startInstall, startProbe } from "./npm.mjs";
import { checkPrerequisites } from "./prerequisites.mjs";
import { Step } from "./progress.mjs";
import { SetUpError } from "./set-up-error.mjs";

const neededNode = 24;
const parentPollMillis = 250;
const graceMillis = 3000;

/** Makes node_modules match the lockfile. Returns the exit code. */
export async function setUp(repositoryDir, needsDevelopment) {
  try {
    checkPrerequisites(repositoryDir);
    const lock = new InstallLock(join(stateDir(repositoryDir), "lock"));
    const current = { npm: null, step: null, ending: false };
    endWithParent(lock, current);
    try {
      await waitForTurn(lock, current);
      await install(repositoryDir, needsDevelopment, lock, current);
    } finally {
      lock.release();
    }
    return 0;
  } catch (error) {
    if (!(error instanceof SetUpError)) throw error;
    const output = error.output === "" ? "" : `${error.output}\n\n`;
    process.stderr.write(`${output}headgate: ${error.message}\n          ${error.cure}\n`);
    return 1;
  }
}

async function waitForTurn(lock, current) {
  await lock.acquire((pid) => {
    current.step = new Step(`Waiting for process ${pid}, which installs packages in this checkout`);
  });
  if (current.step !== null) current.step.end("done");
  current.step = null;
}

async function install(repositoryDir, needsDevelopment, lock, current) {
  // Inspected again, because the previous holder of the lock may have installed everything.
  const { complete, unfinished, development } = inspectInstallation(repositoryDir, needsDevelopment);
  if (complete) return;
  if (unfinished) {
    current.step = new Step("Removing an installation that was interrupted");
    removePackages(repositoryDir);
    current.step.end("done");
    current.step = null;
  }
  const unreachable = await probeRegistry(repositoryDir, lock, current);
  markUnfinished(repositoryDir, development);
  const source = unreachable === null ? "" : " from npm's cache";
  const title = `Installing packages${source}${development ? ", including those for development" : ""}`;
  const npm = startInstall(repositoryDir, { development, offline: unreachable !== null });
  const failure = await run(title, npm, lock, current);
  // npm rolls back its changes when it fails, unless it was killed.
  if (failure === null || !failure.killed) clearUnfinished(repositoryDir);
  if (failure !== null) throw unreachable === null ? failure : unreachable;
  checkNode(repositoryDir);
  markInstalled(repositoryDir, development);
}

async function probeRegistry(repositoryDir, lock, current) {
  const cacheDir = join(stateDir(repositoryDir), "probe");
  try {
    return await run("Contacting the package registry", startProbe(repositoryDir, cacheDir), lock, current);
  } finally {
    rmSync(cacheDir, { recursive: true, force: true });
  }
}

/** Runs npm as one step. Returns why it failed, or null. */
async function run(title, npm, lock, current) {
  current.step = new Step(title);
  current.npm = npm;
  if (npm.pid !== undefined) lock.noteChild(npm.pid);
  const failure = await npm.done.then(explainFailure, (error) => error);
  if (current.ending) await new Promise(() => {}); // endWithParent ends this process
  current.step.end(failure === null ? "done" : "failed");
  current.npm = null;
  current.step = null;
  return failure;
}

function checkNode(repositoryDir) {
  const { stdout, error } = spawnSync(nodeBinary(repositoryDir), ["--version"], { encoding: "utf8" });
  const version = (stdout || "").trim();
  if (Number.parseInt(version.slice(1), 10) >= neededNode) return;
  throw new SetUpError(
    `node_modules/.bin/node should be Node ${neededNode}, but ${error ? `fails (${error.code})` : `is ${version}`}.`,
    "If `npm config get ignore-scripts` says true, run `npm install --ignore-scripts=false` and then this again.",
  );
}

/**
 * A signal to `npm start` ends its shell but not this process, and then no process waits for the installation.
 * Therefore a change of the parent counts as a signal. The installation is marked as unfinished, and the next run
 * starts over.
 */
function endWithParent(lock, current) {
  const parent = process.ppid;
  const end = async (signal) => {
    if (current.ending) return;
    current.ending = true;
    if (current.step !== null) current.step.end("interrupted");
    if (current.npm !== null) await endGroup(current.npm);
    lock.release();
    process.exit(128 + constants.signals[signal]);
  };
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => void end(signal));
  setInterval(() => {
    if (process.ppid !== parent) void end("SIGTERM");
  }, parentPollMillis).unref();
}

async function endGroup({ pid, done }) {
  const over = done.then(
    () => true,
    () => true,
  );
  signalGroup(pid, "SIGTERM");
  await Promise.race([over, sleep(graceMillis)]);
  signalGroup(pid, "SIGKILL");
  await over;
}

function signalGroup(pid, signal) {
  try {
    process.kill(-pid, signal);
  } catch (error) {
    if (error.code !== "ESRCH") throw error; // gone already
  }
}
