import { beforeEach, describe, expect, test, vi } from "vitest";
import { useServer, type AccountClient } from "../../test/support/given.ts";
import { roleHolder } from "../../test/support/role-holder.ts";

/** Where a command runs: its cluster, by label, and its app. */
const given = useServer();
const sql = { command_type: "SparkCommand", sql: "select 1" };

let account: AccountClient;
beforeEach(async () => {
  account = await given.account();
});

async function stored(): Promise<number> {
  const { system } = given.app.services.db;
  return (await system.query("select from command where account_id = $1", [account.accountId])).length;
}

describe("the label of a submission", () => {
  test("may name any cluster of the account", async () => {
    const cluster = await account.post("/api/v2/clusters", { labels: ["one", "two"], engine: { type: "local" } });
    for (const label of ["one", "two"]) {
      const { id } = await account.post("/commands", { ...sql, label });
      const [row] = await given.app.services.db.system.query("select cluster_id from command where id = $1", [id]);
      expect(row).toEqual({ cluster_id: cluster.id });
    }
  });

  test("of another account is refused like an unknown one", async () => {
    const other = await given.account();
    await other.post("/api/v2/clusters", { labels: ["theirs"], engine: { type: "local" } });
    for (const label of ["theirs", "absent"]) {
      const { body } = await account.post("/commands", { ...sql, label }).refused(422);
      expect(body.error.error_message).toBe(`label names no cluster of the account: ${label}. The labels are default.`);
    }
    expect(await stored()).toBe(0);
  });

  test("that is unknown is refused with the labels of the clusters that the caller may read", async () => {
    const hidden = await account.post("/api/v2/clusters", { labels: ["hidden"], engine: { type: "local" } });
    await account.post("/api/v2/clusters", { labels: ["night", "etl"], engine: { type: "local" } });
    const [user, outsider] = [
      await given.member(account, { groups: ["system-user"] }),
      await roleHolder(given, account, "command:create"),
    ];
    const policy = [{ access: "deny", action: ["read"], condition: { svc_users: [user.membershipId] } }];
    await account.put("/object_policy/policy", { source_type: "cluster", source_id: String(hidden.id), policy });
    const submit = (client: AccountClient) => client.post("/commands", { ...sql, label: "nigth\u202e" });
    await submit(account).refused(422, /: nigth\. The labels are default, etl, hidden, night\.$/);
    await submit(user).refused(422, /: nigth\. The labels are default, etl, night\.$/);
    await submit(outsider).refused(422, /: nigth\. There are no clusters that you may read\.$/);
    const labels = Array.from({ length: 9 }, (_, at) => `a${at}`);
    await account.post("/api/v2/clusters", { labels, engine: { type: "local" } });
    await submit(user).refused(422, /: nigth\. GET clusters lists all labels, such as a0, a1, .*, a8, default\.$/);
  });
});

describe("a connect cluster", () => {
  beforeEach(async () => {
    await account.post("/api/v2/clusters", {
      labels: ["remote"],
      engine: { type: "connect", url: "sc://c.example.com:15002" },
    });
  });

  test.each([
    sql,
    { command_type: "SparkCommand", language: "sql", program: "select 1" },
    { command_type: "HiveCommand", query: "show tables" },
    { template: "s3import", db_name: "d", hive_table: "t" },
    { command_type: "HadoopCommand", sub_command: "s3distcp", sub_command_args: "--src a --dest b" },
  ])("accepts SQL, and commands that need no engine, such as a refresh or a copy: %j", async (body) => {
    expect(await account.post("/commands", { ...body, label: "remote" })).toMatchObject({ status: "waiting" });
  });

  test.each([
    { command_type: "SparkCommand", language: "python", program: "1" },
    { command_type: "SparkCommand", language: "scala", program: "1" },
    { command_type: "SparkCommand", language: "R", program: "1" },
    { command_type: "SparkCommand", cmdline: "a.py" },
  ])("refuses anything else and stores nothing: %j", async (body) => {
    await account.post("/commands", { ...body, label: "remote" }).refused(422, /^label names a connect cluster/);
    expect(await stored()).toBe(0);
  });

  test("that has taken over a label refuses reruns of programs that ran there before", async () => {
    const { id } = await account.post("/commands", { command_type: "SparkCommand", cmdline: "a.py" });
    const query = await account.post("/commands", sql);
    await account.put("/api/v2/clusters/reassign-label", { destination_cluster: "remote", label: "default" });
    await account.post(`/commands/${id}/rerun`).refused(422, /^label names a connect cluster/);
    await account.post(`/commands/${query.id}/rerun`);
    expect(await stored()).toBe(3);
  });
});

describe("app_id", () => {
  test("is shown as text, whether submitted as number or text, and a rerun has it, too", async () => {
    const app = await account.post("/api/v2/apps", { name: "reports" });
    for (const appId of [app.id, String(app.id)]) {
      const command = await account.post("/commands", { ...sql, app_id: appId });
      expect(command.command.app_id).toBe(String(app.id));
      const again = await account.post(`/commands/${command.id}/rerun`);
      const rows = await given.app.services.db.system.query("select app_id from command where id = any ($1)", [
        [command.id, again.id],
      ]);
      expect(rows).toEqual([{ app_id: app.id }, { app_id: app.id }]);
    }
    expect((await account.post("/commands", sql)).command.app_id).toBeNull();
  });

  test.each(["987654321", "unknown", "1.5", "-1", "99999999999999999999"])(
    "of an unknown app is refused with 422: %s",
    async (id) => {
      await account.post("/commands", { ...sql, app_id: id }).refused(422, /^app_id names no app of the account/);
      expect(await stored()).toBe(0);
    },
  );

  test("of another account is refused like an unknown one", async () => {
    const other = await given.account();
    const { id } = await other.post("/api/v2/apps", { name: "theirs" });
    const foreign = await account.post("/commands", { ...sql, app_id: id }).refused(422, /^app_id names no app/);
    const unknown = await account.post("/commands", { ...sql, app_id: "987654321" }).refused(422);
    expect(unknown.text.replace(": 987654321", ": <id>")).toBe(foreign.text.replace(`: ${id}`, ": <id>"));
  });

  test("prevents the deletion of its app while the command waits, and stays in the history", async () => {
    const app = await account.post("/api/v2/apps", { name: "reports" });
    const body = { command_type: "SparkCommand", language: "python", program: "1", app_id: app.id };
    const command = await account.post("/commands", body);
    await account.delete(`/api/v2/apps/${app.id}`).refused(422, /^app_id must not be an app whose commands are/);
    await account.put(`/commands/${command.id}`, { status: "kill" });
    await account.delete(`/api/v2/apps/${app.id}`);
    expect(await account.get(`/commands/${command.id}`)).toMatchObject({ command: { app_id: String(app.id) } });
    await account.post(`/commands/${command.id}/rerun`).refused(422, /^app_id names no app/);
  });

  test("is refused with cmdline", async () => {
    const app = await account.post("/api/v2/apps", { name: "reports" });
    const body = { command_type: "SparkCommand", cmdline: "a.py", app_id: app.id };
    await account.post("/commands", body).refused(422, /^app_id must not be used with cmdline/);
  });
});

describe("pool", () => {
  test("may be unknown to the cluster: it then has Spark's defaults", async () => {
    await account.put("/api/v2/clusters/default", { pools: { etl: { weight: 2 } } });
    for (const pool of ["etl", "another"]) {
      expect(await account.post("/commands", { ...sql, pool })).toMatchObject({ pool });
    }
  });
});

describe("a submission whose label changes while it is stored", () => {
  test("goes to the cluster that has the label afterwards", async () => {
    const { db } = given.app.services;
    await account.post("/api/v2/clusters", { labels: ["moving"], engine: { type: "local" } });
    const after = await account.post("/api/v2/clusters", { labels: ["other"], engine: { type: "local" } });
    const { promise: isReleased, resolve: release } = Promise.withResolvers<void>();
    const { promise: isMoved, resolve: noteMoved } = Promise.withResolvers<void>();
    const move = db.asSystem(async (tx) => {
      const where = "where account_id = $1 and label = 'moving'";
      await tx.query(`delete from cluster_label ${where}`, [account.accountId]);
      await tx.query("insert into cluster_label (account_id, label, cluster_id) values ($1, 'moving', $2)", [
        account.accountId,
        after.id,
      ]);
      noteMoved();
      await isReleased;
    });
    await isMoved;
    const submission = account.post("/commands", { ...sql, label: "moving" }).reply();
    const waits = "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
    await vi.waitFor(async () => expect(await db.system.query(waits)).toHaveLength(1));
    release();
    await move;
    expect(await submission).toMatchObject({ status: 200 });
    const rows = await db.system.query<object>("select cluster_id from command where account_id = $1", [
      account.accountId,
    ]);
    expect(rows).toEqual([{ cluster_id: after.id }]);
    const audited = "select object from audit_event where account_id = $1 and operation = 'command_submit'";
    expect(await db.system.query(audited, [account.accountId])).toHaveLength(1);
  });
});

describe("a submission that meets a deletion", () => {
  const isDone = async (call: { reply(): Promise<{ status: number }> }): Promise<boolean> => {
    const { status } = await call.reply();
    expect([200, 409, 422]).toContain(status);
    return status === 200;
  };

  test("of its cluster: one of the two is refused", async () => {
    for (let round = 0; round < 15; round += 1) {
      const { id } = await account.post("/api/v2/clusters", { labels: ["brief"], engine: { type: "local" } });
      const [isStored, isDeleted] = await Promise.all([
        isDone(account.post("/commands", { ...sql, label: "brief" })),
        isDone(account.delete(`/api/v2/clusters/${id}`)),
      ]);
      expect([isStored, isDeleted]).toContain(false);
      if (!isDeleted) await account.put(`/api/v2/clusters/${id}`, { labels: [`kept-${round}`] });
    }
  });

  test("of its app: one of the two is refused", async () => {
    for (let round = 0; round < 15; round += 1) {
      const { id } = await account.post("/api/v2/apps", { name: "brief" });
      const outcomes = await Promise.all([
        isDone(account.post("/commands", { ...sql, app_id: id })),
        isDone(account.delete(`/api/v2/apps/${id}`)),
      ]);
      expect(outcomes).toContain(false);
    }
  });
});
