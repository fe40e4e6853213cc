import { randomBytes } from "node:crypto";
import { mkdir, readdir, readFile, rename, rmdir } from "node:fs/promises";
import { join } from "node:path";
import { Fault } from "../../lib/fault.ts";
import { syncFolder } from "../../lib/private-file.ts";
import type { Binaries } from "./binaries.ts";
import type { Cluster } from "./cluster.ts";
import { appDatabase, appRole, superuser, type RolePasswords } from "./role-passwords.ts";
import { runProgram } from "./run-program.ts";
import { giveTo } from "./unprivileged-user.ts";

/** Whether a cluster of this version exists. Throws if there is one that cannot be used. */
export async function clusterExists(cluster: Cluster, binaries: Binaries): Promise<boolean> {
  const stored = (await readFile(join(cluster.data, "PG_VERSION"), "utf8").catch(() => "")).trim();
  const version = /^[\d.]*$/.test(stored) ? stored : "of an unknown version";
  if (version === binaries.majorVersion) return true;
  if (version !== "") {
    throw new Fault(
      "invalid",
      `${cluster.data} was written by PostgreSQL ${version}, but this Headgate has ${binaries.majorVersion}: ` +
        "export with the Headgate that wrote it (npm run admin -- export), move the data directory away, and import " +
        "with this one (npm run admin -- import)",
    );
  }
  const entries = await readdir(cluster.data).catch(() => []);
  if (entries.length === 0) return false;
  throw new Fault("invalid", `${cluster.data} is neither empty nor a PostgreSQL cluster: move it away`);
}

const partial = "data.partial-";

/**
 * Creates the cluster under a temporary name, with roles and database, and renames it when everything is on disk: after
 * a crash, `data` is complete or absent.
 */
export async function initCluster(cluster: Cluster, binaries: Binaries, passwords: RolePasswords): Promise<void> {
  await removeAbandoned(cluster);
  const data = join(cluster.folder, `${partial}${randomBytes(6).toString("hex")}`);
  await mkdir(data, { mode: 0o700 });
  await giveTo(cluster.user, data);
  // `reject` until the passwords are set: initdb reads them only from a file that the server's user could read.
  const options = ["--auth=reject", "--no-sync", "--no-instructions", "--data-checksums"];
  // The built-in provider sorts the same on every machine and libc, so a libc upgrade breaks no index.
  const locale = ["--encoding=UTF8", "--no-locale", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"];
  await runProgram(binaries.initdb, ["-D", data, "-U", superuser, ...options, ...locale], cluster.user);
  await runSingleUser(cluster, binaries, data, [
    `ALTER ROLE ${superuser} PASSWORD '${passwords.superuser.reveal()}'`,
    `CREATE ROLE ${appRole} LOGIN CREATEDB CREATEROLE PASSWORD '${passwords.app.reveal()}'`,
    `CREATE DATABASE ${appDatabase} OWNER ${appRole}`,
    // Login roles of other databases must not access these.
    ...[appDatabase, "postgres", "template1"].map((name) => `REVOKE ALL ON DATABASE ${name} FROM PUBLIC`),
  ]);
  await runProgram(binaries.initdb, ["-D", data, "--sync-only"], cluster.user);
  await rename(data, cluster.data);
  syncFolder(cluster.folder);
}

/**
 * Deletes as the user that owns the files: if root followed paths that another user can replace with links, it could
 * delete the wrong files. If an initdb of a killed parent is still writing there, the folder stays until the next
 * start.
 */
async function removeAbandoned(cluster: Cluster): Promise<void> {
  for (const name of await readdir(cluster.folder)) {
    if (!name.startsWith(partial)) continue;
    const path = join(cluster.folder, name);
    // As another user, rm cannot remove the folder itself and exits with an error.
    await runProgram("/bin/rm", ["-rf", path], cluster.user).catch(() => undefined);
    await rmdir(path).catch(() => undefined);
  }
}

/** Sets new passwords if the stored ones are lost; no server may run. */
export async function resetPasswords(cluster: Cluster, binaries: Binaries, passwords: RolePasswords): Promise<void> {
  await runSingleUser(cluster, binaries, cluster.data, [
    `ALTER ROLE ${superuser} PASSWORD '${passwords.superuser.reveal()}'`,
    `ALTER ROLE ${appRole} PASSWORD '${passwords.app.reveal()}'`,
  ]);
  await runProgram(binaries.initdb, ["-D", cluster.data, "--sync-only"], cluster.user);
}

/** Runs SQL from standard input, one statement per line, before clients can connect. Prints nothing on failure. */
async function runSingleUser(
  cluster: Cluster,
  binaries: Binaries,
  data: string,
  statements: readonly string[],
): Promise<void> {
  const settings = { exit_on_error: "on", log_min_error_statement: "panic", log_min_messages: "error" };
  const options = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  const args = ["--single", "-D", data, ...options, "postgres"];
  await runProgram(binaries.postgres, args, cluster.user, statements.map((statement) => `${statement};\n`).join(""));
}
