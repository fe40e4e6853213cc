import { describe, expect, test } from "vitest";
import { useServer, type AccountClient } from "../../test/support/given.ts";

const given = useServer({ settings: { HEADGATE_ALLOWED_NETWORKS: "10.0.0.0/8" } });

const ACCOUNT = "/api/v2/accounts";
const KEYS = {
  storage_access_key: "AKIAABCDEFGHIJKLWXYZ",
  storage_secret_key: "storage secret",
  compute_access_key: "AKIACOMPUTECOMPUTE42",
  compute_secret_key: "compute secret",
};

async function validate(account: AccountClient): Promise<void> {
  await given.app.services.db.system.query(
    "update account set storage_validated = true, compute_validated = true where id = $1",
    [account.accountId],
  );
}

describe("PUT accounts", () => {
  test("changes every field and returns the view", async () => {
    const account = await given.account({ features: ["aggressive_downscaling"] });
    const fields = {
      name: "Renamed",
      CacheQuotaSizeInGB: 100,
      aws_region: "ca-central-1",
      storage_endpoint: "http://10.1.2.3:9000",
      hdfs_http_address: "http://namenode.example.com:9870",
      metastore_uri: "thrift://m1.example.com:9083,thrift://m2.example.com:9083",
      refresh_engine: "spark",
      idle_cluster_timeout: 4,
      idle_cluster_timeout_in_secs: 600,
      idle_session_timeout: 60,
    };
    const view = await account.put(ACCOUNT, { account: { ...fields, ...KEYS, defloc: "s3a://bucket/x" } });
    expect(view).toMatchObject({
      ...fields,
      id: account.accountId,
      storage_location: "s3a://bucket/x",
      storage_access_key: "AKIA****WXYZ",
      storage_secret_key: "********",
      compute_access_key: "AKIA****TE42",
      compute_secret_key: "********",
    });
    expect(await account.get(ACCOUNT)).toEqual(view);
  });

  test("accepts the fields without the envelope too, at either path, and changes no other account", async () => {
    const [account, other] = [await given.account(), await given.account({ name: "Other" })];
    const before = await other.get(ACCOUNT);
    expect((await account.put("/api/v2/account", { name: "Flat" })).name).toBe("Flat");
    expect((await account.put(ACCOUNT)).name).toBe("Flat");
    expect(await other.get(ACCOUNT)).toEqual(before);
  });

  test("sending back the view changes nothing, including keys and validation", async () => {
    const account = await given.account();
    await account.put(ACCOUNT, { ...KEYS, storage_endpoint: "https://s3.example.com" });
    await validate(account);
    const view = await account.get(ACCOUNT);
    const { updated_at: _at, ...after } = await account.put(ACCOUNT, view);
    expect(view).toMatchObject(after);
    expect(after).toMatchObject({ storage_validated: true, compute_validated: true });
    expect(await account.get("/accounts/get_creds")).toMatchObject({
      storage_access_key: KEYS.storage_access_key,
      storage_secret_key: KEYS.storage_secret_key,
    });
  });

  test.each(["", "********"])("a key sent as %j is unchanged", async (text) => {
    const account = await given.account();
    await account.put(ACCOUNT, KEYS);
    await account.put(ACCOUNT, { acc_key: text, secret: text, compute_access_key: text, compute_secret_key: text });
    expect(await account.get("/accounts/get_creds")).toMatchObject({
      storage_access_key: KEYS.storage_access_key,
      storage_secret_key: KEYS.storage_secret_key,
    });
    expect((await account.get(ACCOUNT)).compute_access_key).toBe("AKIA****TE42");
  });

  test("a masked key is ignored, however old, and also next to a new key in the other spelling", async () => {
    const account = await given.account();
    await account.put(ACCOUNT, KEYS);
    const view = await account.get(ACCOUNT);
    await account.put(ACCOUNT, { ...view, acc_key: "AKIANEWNEWNEWNEWNEW1" });
    expect((await account.get("/accounts/get_creds")).storage_access_key).toBe("AKIANEWNEWNEWNEWNEW1");
    await account.put(ACCOUNT, view);
    expect((await account.get("/accounts/get_creds")).storage_access_key).toBe("AKIANEWNEWNEWNEWNEW1");
  });

  test("a new key must be validated again, and only its kind", async () => {
    const account = await given.account();
    await account.put(ACCOUNT, KEYS);
    await validate(account);
    expect(await account.put(ACCOUNT, { secret: "another" })).toMatchObject({
      storage_validated: false,
      compute_validated: true,
    });
    expect((await account.get("/accounts/get_creds")).storage_secret_key).toBe("another");
  });

  test("nothing of a short access key is shown", async () => {
    const account = await given.account();
    expect((await account.put(ACCOUNT, { acc_key: "minioadmin" })).storage_access_key).toBe("********");
  });

  test("an empty text removes an address", async () => {
    const account = await given.account();
    const addresses = { storage_endpoint: "https://a.example", hdfs_http_address: "https://b.example" };
    await account.put(ACCOUNT, { ...addresses, metastore_uri: "thrift://c.example", defloc: "s3://bucket" });
    const view = await account.put(ACCOUNT, {
      storage_endpoint: "",
      hdfs_http_address: "",
      metastore_uri: "",
      defloc: "",
    });
    expect(view).toMatchObject({ storage_endpoint: null, hdfs_http_address: null, metastore_uri: null });
    expect(view.storage_location).toMatch(/^file:/);
  });

  test("hours without seconds make the hours apply again", async () => {
    const account = await given.account({ features: ["aggressive_downscaling"] });
    await account.put(ACCOUNT, { idle_cluster_timeout_in_secs: 300 });
    await account.put(ACCOUNT, { idle_session_timeout: 5 });
    expect((await account.get(ACCOUNT)).idle_cluster_timeout_in_secs).toBe(300);
    expect(await account.put(ACCOUNT, { idle_cluster_timeout: 3 })).toMatchObject({
      idle_cluster_timeout: 3,
      idle_cluster_timeout_in_secs: 10_800,
    });
  });

  test.each([0, 6])("the view of an account of %i hours may be sent back", async (hours) => {
    const account = await given.account();
    const view = await account.put(ACCOUNT, { idle_cluster_timeout: hours });
    expect(await account.put(ACCOUNT, view)).toMatchObject({
      idle_cluster_timeout: hours,
      idle_cluster_timeout_in_secs: hours * 3600,
    });
  });

  test("seconds that equal the hours are stored as seconds", async () => {
    const account = await given.account({ features: ["aggressive_downscaling"] });
    await account.put(ACCOUNT, { idle_cluster_timeout_in_secs: 7200 });
    const stored = await given.app.services.db.system.query(
      "select idle_cluster_timeout_seconds as seconds from account where id = $1",
      [account.accountId],
    );
    expect(stored).toEqual([{ seconds: 7200 }]);
    await (await given.account()).put(ACCOUNT, { idle_cluster_timeout_in_secs: 7200 }).refused(422, /feature/);
  });

  test("without the feature, only the shown seconds may be sent back", async () => {
    const account = await given.account();
    await account.put(ACCOUNT, { idle_cluster_timeout: 3, idle_cluster_timeout_in_secs: 7200 });
    expect((await account.get(ACCOUNT)).idle_cluster_timeout_in_secs).toBe(10_800);
    await account.put(ACCOUNT, { idle_cluster_timeout_in_secs: 600 }).refused(422, /aggressive_downscaling on$/);
  });

  test.each([
    [{ name: "" }, /name must not be empty/],
    [{ name: "\u0007" }, /name must not contain control/],
    [{ storage_endpoint: "http://127.0.0.1:9000" }, /storage_endpoint .*HEADGATE_ALLOWED_NETWORKS/],
    [{ storage_endpoint: "http://localhost:9000" }, /storage_endpoint .*HEADGATE_ALLOWED_NETWORKS/],
    [{ hdfs_http_address: "http://[::1]:9870" }, /hdfs_http_address .*HEADGATE_ALLOWED_NETWORKS/],
    [{ hdfs_http_address: "hdfs://nn:8020" }, /hdfs_http_address must be an http/],
    [{ metastore_uri: "thrift://127.0.0.1:9083" }, /metastore_uri .*HEADGATE_ALLOWED_NETWORKS/],
    [{ metastore_uri: "thrift://2130706433:9083" }, /metastore_uri .*HEADGATE_ALLOWED_NETWORKS/],
    [{ metastore_uri: "thrift://ok.example:9083,thrift://169.254.1.1:9083" }, /metastore_uri must not be a link-local/],
    [{ metastore_uri: "jdbc:mysql://x" }, /metastore_uri must be of the form/],
    [{ metastore_uri: "thrift://u@host:1" }, /metastore_uri must name a host/],
    [{ refresh_engine: "presto" }, /refresh_engine must be one of native, spark/],
    [{ defloc: "file:///etc" }, /^defloc must begin with s3:/],
    [{ idle_cluster_timeout: 7 }, /idle_cluster_timeout must be at most 6/],
    [{ idle_cluster_timeout_in_secs: 299 }, /idle_cluster_timeout_in_secs must be at least 300/],
    [{ idle_cluster_timeout_in_secs: -1 }, /idle_cluster_timeout_in_secs must be at least/],
    [{ role_arn: "arn:aws:iam::123456789012:role/x" }, /role_arn cannot be changed through the API/],
    [{ account: { aws_region: "x" } }, /account.aws_region must be one of/],
  ])("refuses %j and changes nothing", async (fields, message) => {
    const account = await given.account();
    const before = await account.get(ACCOUNT);
    await account.put(ACCOUNT, fields).refused(422, message);
    expect(await account.get(ACCOUNT)).toEqual(before);
  });

  test("is refused to a member without a role, and does not exist in v1.2", async () => {
    const account = await given.account();
    await (await given.member(account)).put(ACCOUNT, { name: "x" }).refused(403, /account:update/);
    await account.put("/account", { name: "x" }).refused(405);
  });

  test("two concurrent edits both take effect", async () => {
    const account = await given.account();
    await Promise.all([
      account.put(ACCOUNT, { name: "Both" }).reply(),
      account.put(ACCOUNT, { CacheQuotaSizeInGB: 7 }).reply(),
      account.put(ACCOUNT, KEYS).reply(),
    ]);
    expect(await account.get(ACCOUNT)).toMatchObject({
      name: "Both",
      CacheQuotaSizeInGB: 7,
      storage_access_key: "AKIA****WXYZ",
    });
  });
});
