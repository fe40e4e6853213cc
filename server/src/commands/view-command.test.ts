import { describe, expect, test } from "vitest";
import { useSharedServer } from "../../test/support/given.ts";
import { withoutId } from "../../test/support/without-id.ts";

const given = useSharedServer();
const hive = { command_type: "HiveCommand", query: "show tables", tags: ["t"] };

describe("GET commands/<id>", () => {
  test("users who may read the history see every command of the account, others see none", async () => {
    const [account, other] = [await given.account(), await given.account()];
    const { id, created_at } = await account.post("/commands", hive);
    const member = await given.member(account, { groups: ["system-user"] });
    expect(await member.get(`/commands/${id}`)).toMatchObject({ id, created_at, command_type: "HiveCommand" });
    await (await given.member(account)).get(`/commands/${id}`).refused(403);
    const foreign = await other.get(`/commands/${id}`).refused(404);
    const unknown = await other.get("/commands/987654321").refused(404);
    expect(withoutId(foreign, id)).toBe(withoutId(unknown, "987654321"));
    await other.get("/commands/word").refused(404);
  });

  test("with wait_seconds the answer comes when the command has ended", async () => {
    const account = await given.account();
    const { id } = await account.post("/commands", { command_type: "HadoopCommand", sub_command: "s3distcp" });
    expect((await account.get(`/commands/${id}?wait_seconds=45`)).status).toBe("error");
    await account.get(`/commands/${id}?wait_seconds=61`).refused(422, /^wait_seconds must be at most 60/);
  });
});

describe("POST commands/<id>/rerun", () => {
  test("submits the same again as a new command of the caller", async () => {
    const account = await given.account();
    const first = await account.post("/commands", { ...hive, name: "n", timeout: 5, retry: 2 });
    const member = await given.member(account, { groups: ["system-user"] });
    const again = await member.post(`/commands/${first.id}/rerun`);
    expect(again.id).toBeGreaterThan(first.id);
    expect(again.user_id).not.toBe(first.user_id);
    expect(again).toMatchObject({ status: "waiting", name: "n", timeout: 5, command: first.command, pid: null });
    expect((await member.get(`/commands/${again.id}?include_query_properties=true`)).tags).toEqual(["t"]);
    const { audit_events } = await account.get("/api/v2/audit_events");
    expect(audit_events[0]).toMatchObject({ operation: "command_rerun", object: `command/${again.id}` });
  });

  test("keeps a sealed key sealed", async () => {
    const account = await given.account();
    const body = { command_type: "HadoopCommand", sub_command: "s3distcp", encryptionKey: "hunter2" };
    const first = await account.post("/commands", body);
    const again = await account.post(`/commands/${first.id}/rerun`);
    expect(again.command).toEqual(first.command);
    const rows = await given.app.services.db.system.query<{ same: boolean }>(
      "select count(distinct secrets) = 1 and count(secrets) = 2 as same from command where id = any ($1)",
      [[first.id, again.id]],
    );
    expect(rows).toEqual([{ same: true }]);
  });

  test("needs the permission to submit, and a command of the account", async () => {
    const [account, other] = [await given.account(), await given.account()];
    const { id } = await account.post("/commands", hive);
    await (await given.member(account)).post(`/commands/${id}/rerun`).refused(403);
    await other.post(`/commands/${id}/rerun`).refused(404);
  });
});
