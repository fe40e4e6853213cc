import { beforeEach, describe, expect, test } from "vitest";
import { useSharedServer, type AccountClient } from "../../test/support/given.ts";
import { withoutId } from "../../test/support/without-id.ts";

const given = useSharedServer();
const connect = { type: "connect", url: "sc://connect.example.com:15002", token: "hunter2-token" };

let account: AccountClient;
beforeEach(async () => {
  account = await given.account();
});

async function tokenOf(id: number): Promise<Buffer | null | undefined> {
  const [row] = await given.app.services.db.system.query<{ token: Buffer | null }>(
    "select token from cluster where id = $1",
    [id],
  );
  return row?.token;
}

/** Repeats, as a command may have started the cluster, even one that never ran or has just been killed. */
async function end(label: string): Promise<void> {
  const terminate = async (): Promise<string> => {
    await account.put(`/api/v2/clusters/${label}/state`, { state: "terminate", force: true });
    return (await account.get(`/api/v2/clusters/${label}/state`)).state;
  };
  await expect.poll(terminate).toBe("DOWN");
}

describe("PUT /api/v2/clusters/<id or label>", () => {
  test("keeps absent fields, replaces maps and labels as a whole, and removes a value by an empty string", async () => {
    const made = await account.post("/api/v2/clusters", {
      labels: ["one", "two"],
      engine: { type: "local" },
      spark_config: { "spark.a": "1", "spark.b": "2" },
      pools: { a: {} },
      max_concurrent_commands: 3,
      idle_cluster_timeout: 1,
    });
    const edited = await account.put("/api/v2/clusters/one", {
      labels: ["two", "three"],
      spark_config: { "spark.c": "3" },
      max_concurrent_commands: "",
    });
    expect(edited).toEqual({
      ...made,
      labels: ["three", "two"],
      spark_config: { "spark.c": "3" },
      max_concurrent_commands: null,
      updated_at: expect.any(String),
    });
    expect(await account.put(`/api/v2/clusters/${made.id}`, { pools: {}, idle_cluster_timeout: "" })).toMatchObject({
      pools: {},
      idle_cluster_timeout: null,
    });
    await account.get("/api/v2/clusters/one").refused(404);
  });

  test("sending back the cluster as it was read changes nothing", async () => {
    const made = await account.post("/api/v2/clusters", {
      labels: ["same"],
      engine: connect,
      pools: { a: { weight: 2 } },
    });
    const token = await tokenOf(made.id);
    const edited = await account.put("/api/v2/clusters/same", made);
    expect(edited).toEqual({ ...made, updated_at: edited.updated_at });
    expect(await tokenOf(made.id)).toEqual(token);
    expect(await account.put("/api/v2/clusters/same")).toEqual({ ...made, updated_at: expect.any(String) });
  });

  test("hours without seconds make the hours effective again", async () => {
    const quick = await given.account({ features: ["aggressive_downscaling"] });
    await quick.put("/api/v2/clusters/default", { idle_cluster_timeout: 1, idle_cluster_timeout_in_secs: 300 });
    expect(await quick.put("/api/v2/clusters/default", { idle_cluster_timeout: 2 })).toMatchObject({
      idle_cluster_timeout: 2,
      idle_cluster_timeout_in_secs: null,
    });
    await account
      .put("/api/v2/clusters/default", { idle_cluster_timeout_in_secs: 300 })
      .refused(422, /needs the feature/);
  });

  test("a token can be replaced or kept, and must be given again when the address changes", async () => {
    const { id } = await account.post("/api/v2/clusters", { labels: ["remote"], engine: connect });
    const first = await tokenOf(id);
    await account.put("/api/v2/clusters/remote", { engine: { ...connect, token: "********" } });
    expect(await tokenOf(id)).toEqual(first);
    const elsewhere = "sc://other.example.com:15002";
    await account
      .put("/api/v2/clusters/remote", { engine: { type: "connect", url: elsewhere } })
      .refused(422, /engine\.token/);
    expect(await account.get("/api/v2/clusters/remote")).toMatchObject({ engine: { url: connect.url } });
    await account.put("/api/v2/clusters/remote", { engine: { type: "connect", url: elsewhere, token: "next" } });
    expect(await tokenOf(id)).not.toEqual(first);
    await account.put("/api/v2/clusters/remote", { engine: { type: "local" } });
    expect(await tokenOf(id)).toBeNull();
  });

  test("the label default cannot be removed, and a taken label is refused with 409 and changes nothing", async () => {
    await account.post("/api/v2/clusters", { labels: ["taken"], engine: { type: "local" } });
    const before = await account.get("/api/v2/clusters/default");
    await account.put("/api/v2/clusters/default", { labels: ["other"] }).refused(422, /^labels must keep default/);
    const both = { labels: ["default", "taken"], max_concurrent_commands: 9 };
    await account.put("/api/v2/clusters/default", both).refused(409, /already has the label taken/);
    expect(await account.get("/api/v2/clusters/default")).toEqual(before);
  });

  test("the engine can change only while the cluster is DOWN and has no waiting commands", async () => {
    const engine = { type: "standalone", master_url: "spark://spark.example.com:7077" };
    await account.put("/api/v2/clusters/default/state", { state: "start" });
    await account
      .put("/api/v2/clusters/default", { engine })
      .refused(422, /^engine must not change while the cluster is/);
    await account.put("/api/v2/clusters/default", { engine: { type: "local" }, max_concurrent_commands: 2 });
    await end("default");

    const command = await account.post("/commands", { command_type: "SparkCommand", cmdline: "a.py" });
    await account
      .put("/api/v2/clusters/default", { engine })
      .refused(422, /^engine must not change while (commands|the cluster)/);
    await account.put(`/commands/${command.id}`, { status: "kill" });
    await end("default");
    expect(await account.put("/api/v2/clusters/default", { engine })).toMatchObject({ engine });
  });

  test("an unknown cluster, or another account's, is refused with 404 before the body is validated", async () => {
    const other = await given.account();
    const { id } = await other.get("/api/v2/clusters/default");
    const unknown = await account.put("/api/v2/clusters/987654321", { labels: [] }).refused(404);
    const foreign = await account.put(`/api/v2/clusters/${id}`, { labels: [] }).refused(404);
    expect(withoutId(foreign, id)).toBe(withoutId(unknown, "987654321"));
  });
});

describe("DELETE /api/v2/clusters/<id or label>", () => {
  test("frees its labels and keeps the history of its commands", async () => {
    const { id } = await account.post("/api/v2/clusters", { labels: ["gone"], engine: { type: "local" } });
    const command = await account.post("/commands", { command_type: "SparkCommand", label: "gone", cmdline: "a.py" });
    await account
      .delete("/api/v2/clusters/gone")
      .refused(422, /^cluster_id must not be a cluster (whose commands|that is)/);
    await account.put(`/commands/${command.id}`, { status: "kill" });
    await end("gone");
    expect(await account.delete("/api/v2/clusters/gone")).toEqual({ status: "deleted" });

    for (const path of [`/api/v2/clusters/${id}`, "/api/v2/clusters/gone"]) {
      await account.get(path).refused(404);
      await account.delete(path).refused(404);
    }
    expect((await account.get("/api/v2/clusters")).clusters).toHaveLength(1);
    expect(await account.get(`/commands/${command.id}`)).toMatchObject({ label: "gone" });
    await account
      .post(`/commands/${command.id}/rerun`)
      .refused(422, /^label names no cluster of the account: gone\. The labels are default\.$/);
    await account.post("/api/v2/clusters", { labels: ["gone"], engine: { type: "local" } });
  });

  test("deletes its token", async () => {
    const { id } = await account.post("/api/v2/clusters", { labels: ["remote"], engine: connect });
    await account.delete("/api/v2/clusters/remote");
    expect(await tokenOf(id)).toBeNull();
  });

  test("is refused for the cluster labelled default, until the label is moved", async () => {
    const first = await account.get("/api/v2/clusters/default");
    await account.delete("/api/v2/clusters/default").refused(422, /labelled default/);
    const second = await account.post("/api/v2/clusters", { labels: ["second"], engine: { type: "local" } });
    await account.put("/api/v2/clusters/reassign-label", { destination_cluster: second.id, label: "default" });
    await account.delete(`/api/v2/clusters/${first.id}`);
    await account.delete("/api/v2/clusters/second").refused(422, /labelled default/);
  });

  test("is refused while it is up", async () => {
    await account.post("/api/v2/clusters", { labels: ["busy"], engine: { type: "local" } });
    await account.put("/api/v2/clusters/busy/state", { state: "start" });
    await account
      .delete("/api/v2/clusters/busy")
      .refused(422, /^cluster_id must not be a cluster that is (PENDING|UP)/);
  });
});

describe("PUT /api/v2/clusters/reassign-label", () => {
  test("moves the label with its commands, and gives the other cluster a new label if it has no other", async () => {
    const first = await account.get("/api/v2/clusters/default");
    const second = await account.post("/api/v2/clusters", { labels: ["second"], engine: { type: "local" } });
    const body = { destination_cluster: "second", label: "default" };
    const moved = await account.put("/api/v2/clusters/reassign-label", body);
    expect(moved).toMatchObject({ id: second.id, labels: ["default", "second"] });
    expect(await account.get(`/api/v2/clusters/${first.id}`)).toMatchObject({ labels: [`cluster-${first.id}`] });
    expect(await account.put("/api/v2/clusters/reassign-label", body)).toEqual(moved);

    const { id } = await account.post("/commands", { command_type: "SparkCommand", cmdline: "a.py" });
    const [row] = await given.app.services.db.system.query("select cluster_id from command where id = $1", [id]);
    expect(row).toEqual({ cluster_id: second.id });
  });

  test.each([
    [{ label: "default" }, /^destination_cluster is required/],
    [{ destination_cluster: "default" }, /^label is required/],
    [
      { destination_cluster: "unknown", label: "default" },
      /^destination_cluster names no cluster of the account: unknown\. The labels are default/,
    ],
    [{ destination_cluster: 987_654_321, label: "default" }, /^destination_cluster names no cluster/],
    [
      { destination_cluster: "default", label: "unknown" },
      /^label names no cluster of the account: unknown\. The labels are default/,
    ],
  ])("refuses %j", async (body, message) => {
    await account.put("/api/v2/clusters/reassign-label", body).refused(422, message);
    expect(await account.get("/api/v2/clusters/default")).toMatchObject({ labels: ["default"] });
  });

  test("does not reveal the clusters or labels of another account", async () => {
    const other = await given.account();
    const theirs = await other.post("/api/v2/clusters", { labels: ["theirs"], engine: { type: "local" } });
    await account
      .put("/api/v2/clusters/reassign-label", { destination_cluster: theirs.id, label: "default" })
      .refused(422, /^destination_cluster names no/);
    await account
      .put("/api/v2/clusters/reassign-label", { destination_cluster: "default", label: "theirs" })
      .refused(422, /^label names no/);
    expect(await other.get("/api/v2/clusters/theirs")).toEqual(theirs);
  });
});
