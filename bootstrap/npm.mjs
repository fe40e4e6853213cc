import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { SetUpError } from "./set-up-error.mjs";

const keptOutput = 20_000;

const quiet = ["--loglevel=error", "--progress=false", "--no-update-notifier"];

/**
 * `install` instead of `ci`, which fails if a mirror lacks optional packages of other platforms. `--no-save` leaves the
 * lockfile unchanged. Optional packages are included because the embedded PostgreSQL is one.
 */
export function startInstall(repositoryDir, { development, offline }) {
  const packages = [development ? "--include=dev" : "--omit=dev", "--include=optional"];
  const source = offline ? ["--offline"] : [];
  return startNpm(repositoryDir, ["install", "--no-save", ...packages, ...source, "--no-audit", "--no-fund", ...quiet]);
}

/**
 * Requests a single package first, because without a registry npm would retry each package for minutes. The empty cache
 * forces a request.
 */
export function startProbe(repositoryDir, cacheDir) {
  const limits = ["--fetch-retries=2", "--fetch-retry-mintimeout=500", "--fetch-retry-maxtimeout=2000"];
  const args = [
    "view",
    "node",
    "version",
    `--cache=${cacheDir}`,
    "--logs-max=0",
    "--fetch-timeout=20000",
    ...limits,
    ...quiet,
  ];
  return startNpm(repositoryDir, args);
}

/**
 * Starts npm in a process group of its own, so that its install scripts end with it. `done` resolves to the exit code
 * (null if a signal ended npm) and the end of its output.
 */
function startNpm(repositoryDir, args) {
  const [program, ...first] = npmProgram();
  const child = spawn(program, [...first, ...args], {
    cwd: repositoryDir,
    env: npmEnvironment(repositoryDir),
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text) => {
      output = (output + text).slice(-keptOutput);
    });
  }
  const done = new Promise((resolve, reject) => {
    child.on("error", (error) => {
      const cure = "Install npm 8 or newer; it comes with Node, or as the package `npm` of your distribution.";
      reject(new SetUpError(`npm cannot be started (${error.code}).`, cure));
    });
    child.on("close", (exitCode) => resolve({ exitCode, output }));
  });
  return { pid: child.pid, done };
}

/** The npm that started this process, with its own Node, because the Node in node_modules may be replaced. */
function npmProgram() {
  const { npm_execpath: script, npm_node_execpath: node } = process.env;
  const isNpm = script !== undefined && /npm-cli\.c?js$/.test(script);
  return isNpm && node !== undefined && existsSync(script) && existsSync(node) ? [node, script] : ["npm"];
}

function npmEnvironment(repositoryDir) {
  const binaries = join(repositoryDir, "node_modules/.bin");
  const path = (process.env.PATH || "").split(delimiter).filter((dir) => dir !== binaries);
  return { ...process.env, PATH: path.join(delimiter) };
}

const cures = [
  {
    // Codes of the socket layer, and npm's own message if a proxy or a firewall answers instead.
    when: /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ERR_SOCKET|network/,
    problem: "The package registry cannot be reached.",
    cure: "Check the network, the proxy and `npm config get registry`, then run the same command again.",
  },
  {
    when: /ENOSPC|EDQUOT/,
    problem: "The disk is full.",
    cure: "Headgate's packages need about 500 MB, npm's cache as much again (`npm cache clean --force` empties it).",
  },
  {
    when: /CERT|SELF_SIGNED|UNABLE_TO_GET_ISSUER/,
    problem: "The certificate of the package registry is not trusted.",
    cure: "Name your organisation's certificates in NODE_EXTRA_CA_CERTS, then run the same command again.",
  },
  {
    when: /E40[13]|ENEEDAUTH/,
    problem: "The package registry refuses access.",
    cure: "Check `npm config get registry` and log in with `npm login`, then run the same command again.",
  },
  {
    when: /E404|ETARGET|ENOVERSIONS/,
    problem: "The package registry lacks a package.",
    cure: "A mirror may be out of date: check `npm config get registry`, or wait, then run the same command again.",
  },
  {
    when: /EACCES|EPERM/,
    problem: "A file cannot be written.",
    cure: "Files in node_modules or in npm's cache belong to another user: give them back with `chown -R`.",
  },
];

/** Null: npm succeeded. */
export function explainFailure({ exitCode, output }) {
  if (exitCode === 0) return null;
  const known = cures.find(({ when }) => when.test(output)) || {
    problem: exitCode === null ? "npm was killed." : `npm failed with exit code ${exitCode}.`,
    cure: "Run the same command again; if it fails again, run `npm install` by hand for details.",
  };
  return new SetUpError(known.problem, known.cure, { output: output.trim(), killed: exitCode === null });
}
