import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { beforeAll, describe, expect, test, vi } from "vitest";
import { adminCli, adminHere, urlOf, type AdminCli } from "../../test/support/admin-cli.ts";
import { Client } from "../../test/support/client.ts";
import { useServer, type AccountClient } from "../../test/support/given.ts";
import { byOperator, operatorAudit } from "../../test/support/operator-audit.ts";
import { cloneDatabase } from "../../test/support/test-database.ts";
import { MetastoreDatabases } from "../catalog/metastores/metastore-databases.ts";
import { lockDataDir } from "../db/embedded/data-dir-lock.ts";
import { openRunnerClient } from "../processes/runner/runner-client.ts";
import { findProcess } from "../lib/process-table.ts";
import { readKeys } from "../lib/key-ring.ts";
import { Secret } from "../lib/secret.ts";
import { writeRunningServer } from "../running-server.ts";
import { COMMANDS } from "./admin.ts";
import { promptSecret } from "./prompt.ts";

const given = useServer();
const PATIENCE = { timeout: 45_000 };
let admin: AdminCli;
/** The same in a process of its own. */
let cli: AdminCli;
let first: AccountClient;

beforeAll(async () => {
  const settings = { DATABASE_URL: urlOf(given.database), HEADGATE_DATA_DIR: given.dataDir };
  admin = adminHere(settings);
  cli = adminCli(settings);
  first = await given.operator();
});

const auditOf = (accountId: number): Promise<object[]> => operatorAudit(given.app.services.db.system, accountId);

/** Like a metastore or a warm server, it runs under a runner that outlives the server. */
async function startSleeper(folder: string): Promise<number> {
  const client = openRunnerClient(folder);
  const program = { argv: ["/bin/sleep", "600"], cwd: "/", env: {}, identity: undefined, descriptor3: undefined };
  const forever = { timeoutSeconds: null, checkSeconds: 60, elapsedSeconds: 0, leaseFile: null, leaseSeconds: 600 };
  const alone = { rosterFolder: null, orphan: null, resources: null };
  await client.start(program, {
    ...forever,
    ...alone,
    outputFile: null,
    logFile: null,
    logLimitBytes: 1000,
    graceSeconds: 5,
  });
  return vi.waitFor(async () => {
    const view = await client.observe();
    if (view.state !== "running" || view.status.driver === null) throw new Error(view.state);
    return view.status.driver.pid;
  }, PATIENCE);
}

describe("the command line", () => {
  test("lists every command in its help, and explains each of them", async () => {
    const [help, one] = await Promise.all([cli.run("--help"), admin.run("break-glass-token", "--help")]);
    const explained = [...help.matchAll(/^ {2}([a-z-]+)(?: \S+)* {2,}\S/gm)].map(([, name]) => name);
    expect(explained).toEqual(expect.arrayContaining(Object.keys(COMMANDS)));
    expect(one).toMatch(/--disable-whitelist/);
  });

  test("does not say that no server runs on a data directory that it cannot read", async () => {
    const unreadable = join(given.dataDir, "loop"); // also for root
    symlinkSync(unreadable, unreadable);
    const refusal = await admin.with({ HEADGATE_DATA_DIR: unreadable }).refused("settings");
    expect(refusal).toMatch(/^HEADGATE_DATA_DIR: .*loop\/headgate\.lock cannot be read/);
  });

  test("reports an unknown command, an unreachable database and a missing installation in one line", async () => {
    const [unknown, away, none] = await Promise.all([
      cli.refused("acounts"),
      cli.with({ DATABASE_URL: "postgres://x:y@127.0.0.1:1/none" }).refused("accounts"),
      adminCli({ HEADGATE_DATA_DIR: join(given.dataDir, "nothing-here") }).refused("accounts"),
    ]);
    expect(unknown).toMatch(/unknown command 'acounts'/);
    expect(away).toMatch(/^DATABASE_URL: user x, database none at 127\.0\.0\.1:1: .*\n$/);
    expect(none).toMatch(/^There is no installation in .*nothing-here yet/);
    expect(existsSync(join(given.dataDir, "nothing-here"))).toBe(false);
  });

  test("warns about an unknown variable and suggests the nearest setting", async () => {
    const misspelt = { HEADGATE_DATA_DIR: join(given.dataDir, "nothing-here"), HEADGATE_DATADIR: given.dataDir };
    expect(await adminHere(misspelt).refused("accounts")).toMatch(
      /^Warning: the variable HEADGATE_DATADIR is not a setting and has no effect; did you mean HEADGATE_DATA_DIR\?\n/,
    );
  });

  test("works only on a database of its own version", async () => {
    const { system } = given.app.services.db;
    await system.query("insert into schema_migration (number, name) values (9999, 'from_the_future')");
    const refusal = await admin.refused("accounts");
    await system.query("delete from schema_migration where number = 9999");
    expect(refusal).toMatch(/at migration 9999.*use the version that the server runs/);
  });

  test("shows settings with value and default, secrets masked", async () => {
    const rows = await admin
      .with({ HEADGATE_PORT: "9000", HEADGATE_PASSPHRASE: "correct horse battery" })
      .json("settings");
    expect(rows).toContainEqual({ name: "HEADGATE_PORT", value: "9000", default: "8470" });
    expect(rows).toContainEqual({ name: "HEADGATE_OUTPUT_LIMIT", value: "10g", default: "10g" });
    expect(rows).toContainEqual(expect.objectContaining({ name: "DATABASE_URL", value: "********" }));
    expect(JSON.stringify(rows)).not.toContain("horse");
  });

  test("shows the state of the installation", async () => {
    await first.get("/account"); // the server of this test has a connection open then
    expect(await admin.json("status")).toMatchObject({
      server: "runs elsewhere",
      pid: null,
      store: "external",
      database: given.database.connection.database,
      key_ids: [1],
      accounts: expect.any(Number),
      python: null,
    });
  });

  test("shows what the running server says about Spark and its Python packages", async () => {
    const python = { ok: true, detail: "failed: pip failed; the next attempt is in 2 min" };
    const server = createServer((_request, answer) => {
      answer
        .writeHead(503)
        .end(JSON.stringify({ parts: { spark: { ok: false, detail: "Spark needs Java" }, python } }));
    });
    await once(server.listen(0, "127.0.0.1"), "listening");
    const dataDir = mkdtempSync(join(tmpdir(), "headgate-admin-"));
    const lock = lockDataDir(dataDir);
    try {
      const { port } = server.address() as AddressInfo; // it listens on TCP
      writeRunningServer({ ...given.app.services.config, dataDir }, `http://127.0.0.1:${port}`);
      const status = await admin.with({ HEADGATE_DATA_DIR: dataDir }).json("status");
      expect(status).toMatchObject({ server: "running", spark: "Spark needs Java", python: python.detail });
    } finally {
      lock.release();
      server.close();
      rmSync(dataDir, { recursive: true });
    }
  });
});

describe("accounts", () => {
  test("account-create creates a system-admin whose token works, and accounts lists the account", async () => {
    const made = await admin.json(
      "account-create",
      "--name",
      "Made here",
      "--email",
      "a@example.test",
      "--features",
      "script_macros",
    );
    const client = new Client(given.base, made.authentication_token);
    expect(await client.get("/account")).toMatchObject({ id: made.account_id, name: "Made here" });
    expect(made).toMatchObject({ email: "a@example.test", operator: false });
    expect(await admin.json("accounts")).toContainEqual(
      expect.objectContaining({ id: made.account_id, name: "Made here", users: 1, features: ["script_macros"] }),
    );
    expect(await auditOf(made.account_id)).toEqual([byOperator("account_create", `account/${made.account_id}`)]);
  });

  test("account-create on an empty database creates the installation with operator and key file", async () => {
    const empty = await cloneDatabase("template0");
    const dataDir = join(given.dataDir, "new-installation");
    try {
      const fresh = adminHere({ DATABASE_URL: urlOf(empty), HEADGATE_DATA_DIR: dataDir });
      expect(await fresh.refused("accounts")).toMatch(/no installation in the database of DATABASE_URL/);
      const made = await fresh.json("account-create", "--name", "First", "--email", "ops@example.test");
      expect(made).toMatchObject({ account_id: 1, operator: true });
      expect(readKeys(join(dataDir, "keys"))).toHaveLength(1);
      expect(await fresh.run("operator-revoke", "ops@example.test")).toMatch(/Operators: none/);
    } finally {
      await empty.drop();
    }
  });

  test("account-create refuses the same values as the API, and stores nothing", async () => {
    const before = await admin.json("accounts");
    const refusals = await Promise.all([
      admin.refused("account-create", "--name", "x", "--email", "no address"),
      admin.refused("account-create", "--name", "x", "--email", "a/b@example.test"),
      admin.refused("account-create", "--name", "", "--email", "a@example.test"),
      admin.refused("account-create", "--email", "a@example.test"),
      admin.refused("account-create", "--name", "x", "--email", "a@example.test", "--features", "flying"),
      admin.refused("account-create", "--name", "x", "--email", "a@example.test", "--features", "ip_whitelisting"),
    ]);
    expect(refusals.map((text) => text.split("\n")[0])).toEqual([
      expect.stringContaining("e-mail address"),
      expect.stringContaining("contains a slash"),
      expect.stringContaining("1 to 255 characters"),
      expect.stringContaining("--name"),
      expect.stringContaining("ip_whitelisting, aggressive_downscaling"),
      expect.stringContaining("its whitelist is empty"),
    ]);
    expect(await admin.json("accounts")).toHaveLength(before.length);
  });

  test("control characters in a tenant's name do not reach the operator's terminal", async () => {
    await given.account({ name: "evil\u001b[2J\u202Ename" });
    expect(await admin.run("accounts")).toContain("evil\u{FFFD}[2J\u{FFFD}name");
  });

  test("account-delete removes the account with its users, tokens, files, processes and catalog of tables", async () => {
    const account = await given.account();
    const catalogs = new MetastoreDatabases({ connection: given.database.connection, isEmbedded: true });
    await catalogs.provide(account.accountId, new Secret("0123456789"));
    const files = join(given.dataDir, "accounts", String(account.accountId), "storage");
    mkdirSync(files, { recursive: true });
    writeFileSync(join(files, "result"), "x");
    const processes = ["metastore/process-1/run", "spark/1/run", "standby/1"].map((name) => join(files, "..", name));
    const pids = await Promise.all(processes.map(startSleeper));
    await cli.run("account-delete", String(account.accountId), "--yes");
    for (const pid of pids) expect(await findProcess(pid)).toBeUndefined();
    await account.get("/account").refused(401);
    expect(existsSync(join(given.dataDir, "accounts", String(account.accountId)))).toBe(false);
    expect(await catalogs.list()).toEqual([]);
    expect(await auditOf(first.accountId)).toContainEqual(byOperator("account_delete", `account/${account.accountId}`));
  });

  test("account-delete refuses without a terminal or --yes, the first account, and an unknown one", async () => {
    const account = await given.account();
    const [unasked, operators, unknown, noId] = await Promise.all([
      cli.refused("account-delete", String(account.accountId)),
      admin.refused("account-delete", String(first.accountId), "--yes"),
      admin.refused("account-delete", "987654321", "--yes"),
      admin.refused("account-delete", "first", "--yes"),
    ]);
    expect(unasked).toMatch(/--yes/);
    expect(operators).toMatch(/first account/);
    expect(unknown).toMatch(/no account 987654321/);
    expect(noId).toMatch(/positive integer/);
    await account.get("/account");
  });

  test("account-role sets and clears role-based credentials", async () => {
    const account = await given.account();
    const id = String(account.accountId);
    const role = "arn:aws:iam::123456789012:role/headgate";
    await admin.run("account-role", id, "--role-arn", role, "--external-id", "ext-1");
    expect(await account.get("/account")).toMatchObject({
      is_aws_role_enabled: true,
      role_arn: role,
      external_id: "ext-1",
    });
    await admin.run("account-role", id, "--clear");
    expect(await account.get("/account")).toMatchObject({ is_aws_role_enabled: false });
    expect(await auditOf(account.accountId)).toEqual([
      byOperator("account_role_set", `role/${role}`),
      byOperator("account_role_set", "role/none"),
    ]);
    const refusals = await Promise.all([
      admin.refused("account-role", id, "--role-arn", "nonsense", "--external-id", "ext-1"),
      admin.refused("account-role", id, "--role-arn", role),
      admin.refused("account-role", id, "--clear", "--external-id", "ext-1"),
      admin.refused("account-role", "987654321", "--clear"),
    ]);
    expect(refusals).toEqual([
      expect.stringMatching(/role_arn must be of the form/),
      expect.stringMatching(/both --role-arn and --external-id/),
      expect.stringMatching(/both --role-arn and --external-id/),
      expect.stringMatching(/no account/),
    ]);
  });
});

describe("features", () => {
  test("feature-set enables and disables a feature, and features shows it", async () => {
    const account = await given.account();
    const id = String(account.accountId);
    expect(await admin.json("feature-set", id, "large_scripts", "on")).toMatchObject({ large_scripts: true });
    expect(await admin.run("features", id)).toMatch(/^large_scripts +on$/m);
    expect(await admin.json("feature-set", id, "large_scripts", "off")).toMatchObject({ large_scripts: false });
    expect(await auditOf(account.accountId)).toEqual([
      byOperator("account_features_edit", `account/${id}/large_scripts/on`),
      byOperator("account_features_edit", `account/${id}/large_scripts/off`),
    ]);
  });

  test("enforcing an empty whitelist is refused here too; with an entry it applies at once", async () => {
    const account = await given.account();
    const id = String(account.accountId);
    expect(await admin.refused("feature-set", id, "ip_whitelisting", "on")).toMatch(/whitelist is empty/);
    await account.post("/whitelist_ip", { ip_cidr: "203.0.113.7" });
    await admin.run("feature-set", id, "ip_whitelisting", "on", "--yes");
    await account.get("/account").refused(403, /whitelisted/);
  });

  test("enforcing a whitelist names the members whom it would lock out, and needs --yes then", async () => {
    const account = await given.account();
    const id = String(account.accountId);
    const on = ["feature-set", id, "ip_whitelisting", "on"];
    const reader = await given.member(account, { groups: ["system-user"] });
    const newcomer = await given.member(account, { groups: ["system-user"] });
    await account.post("/whitelist_ip", { ip_cidr: "203.0.113.0/24" });
    await reader.get("/commands"); // is not audited
    const refusal = await vi.waitFor(async () => {
      const said = await admin.refused(...on);
      expect(said).toContain(reader.email); // the time of a sign-in is stored after the answer
      return said;
    }, PATIENCE);
    expect(refusal.split("\n")).toEqual([
      `These members of account ${id} may lose access:`,
      ...[`  ${account.email} (last address 127.0.0.1)`, `  ${reader.email} (last address unknown)`].toSorted(),
      "Nothing was changed. Whitelist their addresses, or add --yes to enable it anyway.",
      "",
    ]);
    expect(refusal).not.toContain(newcomer.email);
    await account.get("/account");
    expect(await admin.json(...on, "--yes")).toMatchObject({ ip_whitelisting: true });
    expect(await admin.json(...on)).toMatchObject({ ip_whitelisting: true }); // on already: nothing changes
  });

  test("enforcing a whitelist changes nothing if another change has just done it", async () => {
    const account = await given.account();
    const id = String(account.accountId);
    const { db } = given.app.services;
    await account.post("/whitelist_ip", { ip_cidr: "203.0.113.0/24" });
    const { later } = await db.asSystem(async (tx) => {
      await tx.query("update account set features = '{ip_whitelisting}' where id = $1", [id]);
      const command = admin.json("feature-set", id, "ip_whitelisting", "on");
      await vi.waitFor(async () => {
        const waiting = "select pid from pg_locks where not granted and locktype = 'transactionid'";
        expect(await db.system.query(waiting)).not.toEqual([]);
      }, PATIENCE);
      return { later: command };
    });
    expect(await later).toMatchObject({ ip_whitelisting: true });
  });

  test("enforcing a whitelist needs no --yes if it covers the last address of all, and names 20 members at most", async () => {
    const account = await given.account();
    const id = String(account.accountId);
    const { system } = given.app.services.db;
    await account.post("/whitelist_ip", { ip_cidr: "127.0.0.0/8" });
    await admin.run("feature-set", id, "ip_whitelisting", "on");
    await account.get("/account");
    await admin.run("feature-set", id, "ip_whitelisting", "off");
    const emails = Array.from({ length: 25 }, (_, index) => `${index}-of-${id}@example.test`);
    await system.query(
      `with added as (insert into app_user (email) select unnest($2::text[]) returning id)
       insert into membership (account_id, user_id, name, state, last_login)
       select $1, id, 'x', 'active', now() from added`,
      [account.accountId, emails],
    );
    const refusal = await admin.refused("feature-set", id, "ip_whitelisting", "on");
    expect(refusal.split("\n").filter((line) => line.startsWith("  "))).toHaveLength(21);
    expect(refusal.split("\n")).toContain("  and 5 more");
  });

  test("unknown features, switches and accounts are refused", async () => {
    const id = String(first.accountId);
    const refusals = await Promise.all([
      admin.refused("feature-set", id, "flying", "on"),
      admin.refused("feature-set", id, "large_scripts", "maybe"),
      admin.refused("feature-set", "987654321", "large_scripts", "on"),
      admin.refused("features", "987654321"),
    ]);
    expect(refusals).toEqual([
      expect.stringMatching(/one of ip_whitelisting/),
      expect.stringMatching(/on, off/),
      expect.stringMatching(/no account 987654321/),
      expect.stringMatching(/no account 987654321/),
    ]);
  });
});

describe("the operator flag", () => {
  test("gives access to the operator's routes, and only members of the first account can have it", async () => {
    const member = await given.member(first, { groups: ["system-user"] });
    await member.get("/api/v2/accounts/all").refused(404);
    expect(await admin.run("operator-grant", member.email.toUpperCase())).toContain(member.email);
    await member.get("/api/v2/accounts/all");
    expect(await admin.run("operator-revoke", member.email)).not.toContain(member.email);
    await member.get("/api/v2/accounts/all").refused(404);
    const stranger = await given.account();
    expect(await admin.refused("operator-grant", stranger.email)).toMatch(/not a member of the first account/);
    expect(await auditOf(first.accountId)).toContainEqual(
      byOperator("operator_grant", `user/${member.email.toUpperCase()}`),
    );
  });
});

describe("break-glass-token", () => {
  test("replaces the token of the first account's operator", async () => {
    const { authentication_token: token, email } = await admin.json("break-glass-token");
    expect(email).toBe(first.email);
    await first.get("/account").refused(401);
    first = Object.assign(await given.operator(), { token });
    await first.get("/account");
  });

  test("says that the previous token ends, and that the file of the first start has it", async () => {
    const file = join(given.dataDir, "admin-token");
    const replace = () => admin.finish("break-glass-token", "--json");
    writeFileSync(file, `${first.token}\n`);
    const second = await admin.finish("break-glass-token", "--hours", "1");
    expect(second.stderr).not.toContain(file);
    await first.get("/account");
    const replaced = await replace();
    expect(replaced.stderr).toContain("With --hours <n>, the previous token would have stayed valid");
    expect(replaced.stderr).toContain(`${file} contains the previous token, which is no longer valid`);
    const again = await replace();
    expect(again.stderr).not.toContain(file);
    first = Object.assign(await given.operator(), { token: JSON.parse(again.stdout).authentication_token });
    await first.get("/account");
  });

  test("with --hours creates a second token that expires", async () => {
    const account = await given.account();
    const { authentication_token: token } = await admin.json(
      "break-glass-token",
      "--account",
      String(account.accountId),
      "--hours",
      "2",
    );
    await new Client(given.base, token).get("/account");
    await account.get("/account");
    await given.app.services.db.system.query("update api_token set expires_at = now() where expires_at is not null");
    await new Client(given.base, token).get("/account").refused(401);
  });

  test("lets a locked-out admin in again only with --disable-whitelist", async () => {
    const account = await given.account();
    await account.post("/whitelist_ip", { ip_cidr: "203.0.113.7" });
    const id = String(account.accountId);
    await admin.run("feature-set", id, "ip_whitelisting", "on", "--yes");
    const first = await admin.json("break-glass-token", "--account", id, "--email", account.email);
    await new Client(given.base, first.authentication_token).get("/account").refused(403, /whitelisted/);
    const second = await admin.json("break-glass-token", "--account", id, "--disable-whitelist");
    await new Client(given.base, second.authentication_token).get("/account");
    expect(await auditOf(account.accountId)).toContainEqual(
      byOperator("account_features_edit", `account/${id}/ip_whitelisting/off`),
    );
  });

  test("is refused for users who are not active system-admins", async () => {
    const account = await given.account();
    const member = await given.member(account, { groups: ["system-user"] });
    const disabled = await given.member(account, { groups: ["system-admin"], state: "disabled" });
    const refusals = await Promise.all([
      ...[member, disabled].map(({ email }) =>
        admin.refused("break-glass-token", "--account", String(account.accountId), "--email", email),
      ),
      admin.refused("break-glass-token", "--hours", "0"),
    ]);
    expect(refusals).toEqual([
      expect.stringContaining(`There are: ${account.email}.`),
      expect.stringContaining(`There are: ${account.email}.`),
      expect.stringContaining("1 to 8760"),
    ]);
  });
});

test("a passphrase is not echoed", async () => {
  const shown = vi.spyOn(process.stderr, "write").mockReturnValue(true);
  const terminal = new PassThrough();
  const asked = promptSecret("Passphrase: ", terminal);
  terminal.write("correct horse\n");
  expect(await asked).toBe("correct horse");
  expect(shown.mock.calls.flat()).toEqual(["Passphrase: ", "\n"]);
  expect(terminal.read()).toBe(null);
  shown.mockRestore();
});
