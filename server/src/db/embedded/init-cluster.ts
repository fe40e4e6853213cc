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

/** Whether there is a cluster of this version; one that cannot be used is a fault. */
export async function clusterExists(cluster: Cluster, binaries: Binaries): Promise<boolean> {
  const stored = (await readFile(join(cluster.data, "PG_VERSION"), "utf8").catch(() => "")).trim();
  const version = /^[\d.]*$/.test(stored) ? stored : "of an unknown version";
  if (version === binaries.majorVersion) return true;
  if (version !== "") {
    throw new Fault(
      "invalid",
      `${cluster.data} was written by PostgreSQL ${version}, this Headgate brings ${binaries.majorVersion}: ` +
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
 * Makes the cluster under another name, with roles and database, and renames it when all of it is on the disk: `data`
 * is whole or absent, wherever a crash falls.
 */
export async function initCluster(cluster: Cluster, binaries: Binaries, passwords: RolePasswords): Promise<void> {
  await removeAbandoned(cluster);
  const data = join(cluster.folder, `${partial}${randomBytes(6).toString("hex")}`);
  await mkdir(data, { mode: 0o700 });
  await giveTo(cluster.user, data);
  // `reject` until the passwords are set: handing them to initdb would need a file the server's user can read.
  const options = ["--auth=reject", "--no-sync", "--no-instructions", "--data-checksums"];
  // The built-in provider sorts the same on every machine and in every libc, so an upgrade of it breaks no index.
  const locale = ["--encoding=UTF8", "--no-locale", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"];
  await runProgram(binaries.initdb, ["-D", data, "-U", superuser, ...options, ...locale], cluster.user);
  await runSingleUser(cluster, binaries, data, [
    `ALTER ROLE ${superuser} PASSWORD '${passwords.superuser.reveal()}'`,
    `CREATE ROLE ${appRole} LOGIN CREATEDB CREATEROLE PASSWORD '${passwords.app.reveal()}'`,
    `CREATE DATABASE ${appDatabase} OWNER ${appRole}`,
    // Other login roles are to come, for databases of their own: they have no business in these.
    ...[appDatabase, "postgres", "template1"].map((name) => `REVOKE ALL ON DATABASE ${name} FROM PUBLIC`),
  ]);
  await runProgram(binaries.initdb, ["-D", data, "--sync-only"], cluster.user);
  await rename(data, cluster.data);
  syncFolder(cluster.folder);
}

/**
 * Emptied as the user it belongs to: root following paths that another user can swap for links deletes the wrong
 * files. An initdb whose parent was killed may still be writing there; then it stays until the next time.
 */
async function removeAbandoned(cluster: Cluster): Promise<void> {
  for (const name of await readdir(cluster.folder)) {
    if (!name.startsWith(partial)) continue;
    const path = join(cluster.folder, name);
    // As another user it cannot remove the folder itself, and says so by its status.
    await runProgram("/bin/rm", ["-rf", path], cluster.user).catch(() => undefined);
    await rmdir(path).catch(() => undefined);
  }
}

/** The way in when the stored passwords are lost; no server may run. */
export async function resetPasswords(cluster: Cluster, binaries: Binaries, passwords: RolePasswords): Promise<void> {
  await runSingleUser(cluster, binaries, cluster.data, [
    `ALTER ROLE ${superuser} PASSWORD '${passwords.superuser.reveal()}'`,
    `ALTER ROLE ${appRole} PASSWORD '${passwords.app.reveal()}'`,
  ]);
  await runProgram(binaries.initdb, ["-D", cluster.data, "--sync-only"], cluster.user);
}

/** SQL on standard input, a statement a line, before anybody can connect. Nothing is echoed on failure. */
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
