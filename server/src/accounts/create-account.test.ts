import { describe, expect, test } from "vitest";
import { Client } from "../../test/support/client.ts";
import { useServer } from "../../test/support/given.ts";

const given = useServer();
/** A server where new accounts have the feature for an idle time in seconds, and users may create few accounts. */
const quick = useServer({ settings: { HEADGATE_FEATURES: "aggressive_downscaling", HEADGATE_ACCOUNTS_PER_USER: "3" } });

const V2 = "/api/v2/accounts";

/** Copied from §4.12, so that a region that is missing from the product's own list fails here. */
const REGIONS = [
  "us-east-1",
  "us-east-2",
  "us-west-1",
  "us-west-2",
  "eu-west-1",
  "eu-west-2",
  "sa-east-1",
  "ap-south-1",
  "ap-southeast-1",
  "ap-northeast-1",
  "ap-northeast-2",
  "ca-central-1",
];

async function accountCount(): Promise<number> {
  const [row] = await given.app.services.db.system.query<{ count: number }>("select count(*) from account");
  return row?.count ?? 0;
}

describe.each([
  ["v1.2", "/account/"],
  ["v2", V2],
])("POST account (%s)", (_version, path) => {
  test("returns exactly the fields of §2.5, and the token works in the new account", async () => {
    const creator = await given.account();
    const reply = await creator.post(path, { account: { name: "Analytics" } });
    expect(reply).toEqual({
      name: "Analytics",
      state: "success_create",
      groups: ["system-admin", "everyone"],
      authentication_token: expect.stringMatching(/^hg_/),
      account_id: expect.any(Number),
      is_aws_keys_enabled: false,
      status: "success",
    });
    const account = new Client(given.base, reply.authentication_token);
    expect(await account.get("/account")).toMatchObject({ id: reply.account_id, name: "Analytics", plan: "free" });
  });

  test.each([
    ["acc_key", "secret"],
    ["storage_access_key", "storage_secret_key"],
  ])("accepts the credentials as %s and %s, encrypts them and shows them masked", async (accessKey, secretKey) => {
    const creator = await given.account();
    const reply = await creator.post(path, {
      account: {
        name: "Keys",
        [accessKey]: "AKIAABCDEFGHIJKLWXYZ",
        [secretKey]: "storage-secret-of-keys",
        compute_access_key: "AKIACOMPUTECOMPUTE42",
        compute_secret_key: "compute-secret-of-keys",
      },
    });
    expect(reply.is_aws_keys_enabled).toBe(true);
    const view = await new Client(given.base, reply.authentication_token).get("/account");
    expect(view).toMatchObject({
      storage_access_key: "AKIA****WXYZ",
      storage_secret_key: "********",
      compute_access_key: "AKIA****TE42",
      compute_secret_key: "********",
    });
    const [row] = await given.app.services.db.system.query<{ row: string }>(
      "select encode(storage_secret_key || storage_access_key || compute_secret_key, 'escape') as row from account where id = $1",
      [reply.account_id],
    );
    expect(row?.row).not.toMatch(/secret-of-keys|AKIA/);
  });
});

describe("POST account: defaults and limits", () => {
  test("an account created with only a name has every default of §8", async () => {
    const creator = await given.account();
    const { authentication_token: token, account_id: id } = await creator.post(V2, { account: { name: "Plain" } });
    expect(await new Client(given.base, token).get(V2)).toEqual({
      id,
      name: "Plain",
      storage_type: "CUSTOMER_MANAGED",
      compute_type: "CUSTOMER_MANAGED",
      storage_validated: false,
      compute_validated: false,
      is_aws_role_enabled: false,
      idle_session_timeout: 1440,
      storage_access_key: "",
      storage_secret_key: "",
      storage_location: `file://${given.dataDir}/accounts/${id}/storage`,
      authorized_ssh_key: null,
      compute_access_key: "",
      compute_secret_key: "",
      plan: "free",
      storage_endpoint: null,
      level: "free",
      CacheQuotaSizeInGB: 25,
      aws_region: null,
      idle_cluster_timeout: 2,
      idle_cluster_timeout_in_secs: 7200,
      hdfs_http_address: null,
      metastore_uri: null,
      refresh_engine: "native",
      created_at: expect.stringMatching(/Z$/),
      updated_at: expect.stringMatching(/Z$/),
    });
  });

  test("stores every parameter, accepts scalars in any spelling, null as absent, and ignores unknown keys", async () => {
    const creator = await quick.account();
    const { authentication_token: token } = await creator.post("/account", {
      account: {
        name: 42,
        level: "free",
        compute_type: "CUSTOMER_MANAGED",
        storage_type: "CUSTOMER_MANAGED",
        CacheQuotaSizeInGB: "9007199254740991",
        defloc: "s3://example-bucket/prefix",
        acc_key: null,
        secret: "",
        compute_access_key: "",
        aws_region: "eu-west-2",
        storage_endpoint: "https://s3.example.com:9000/",
        idle_cluster_timeout: "6",
        idle_cluster_timeout_in_secs: "300",
        idle_session_timeout: "10800",
        sub_account_creation: "False",
        role_arn: null,
        colour: "blue",
      },
    });
    expect(await new Client(quick.base, token).get(V2)).toMatchObject({
      name: "42",
      CacheQuotaSizeInGB: 9007199254740991,
      storage_location: "s3://example-bucket/prefix",
      storage_access_key: "",
      aws_region: "eu-west-2",
      storage_endpoint: "https://s3.example.com:9000",
      idle_cluster_timeout: 6,
      idle_cluster_timeout_in_secs: 300,
      idle_session_timeout: 10800,
    });
  });

  test.each(REGIONS)("accepts the region %s", async (region) => {
    const creator = await given.account();
    const { authentication_token: token } = await creator.post(V2, {
      account: { name: "Regional", aws_region: region },
    });
    expect(await new Client(given.base, token).get(V2)).toMatchObject({ aws_region: region });
  });

  test("refuses any other region and names those of the specification", async () => {
    const creator = await given.account();
    const { body } = await creator
      .post(V2, { account: { name: "Elsewhere", aws_region: "eu-central-1" } })
      .refused(422, /aws_region/);
    expect(body.error.error_message.match(/[a-z]{2}-[a-z]+-\d/g)).toEqual(REGIONS);
  });

  test.each([
    "s3://b0c/p",
    `s3://${"b".repeat(63)}/p`,
    "s3a://bucket",
    "s3n://bucket.name/a b/c",
    "hdfs:///logs",
    "s3://bucket/a..b/",
    "hdfs://nn.example.com:8020/logs",
  ])("accepts the location %s", async (defloc) => {
    const creator = await given.account();
    const { authentication_token: token } = await creator.post(V2, { account: { name: "Located", defloc } });
    expect((await new Client(given.base, token).get("/account")).storage_location).toBe(defloc);
  });

  test.each([
    [{ name: undefined }, /^account.name is required/],
    [{ name: "" }, /name must not be empty/],
    [{ name: "  " }, /name must have at least one visible character/],
    [{ name: "x".repeat(256) }, /name must have at most 255/],
    [{ name: "a\u001b[31m" }, /name must not contain control/],
    [{ name: "a\u0000" }, /name must not contain U\+0000/],
    [{ name: ["x"] }, /name must be a string/],
    [{ level: "gold" }, /level must be one of free/],
    [{ compute_type: "SERVICE_MANAGED" }, /compute_type must be one of CUSTOMER_MANAGED/],
    [{ storage_type: "" }, /storage_type must be one of CUSTOMER_MANAGED/],
    [{ CacheQuotaSizeInGB: -1 }, /CacheQuotaSizeInGB must be at least 0/],
    [{ CacheQuotaSizeInGB: 2.5 }, /CacheQuotaSizeInGB must be an integer/],
    [{ CacheQuotaSizeInGB: "1e3" }, /CacheQuotaSizeInGB must be an integer/],
    [{ CacheQuotaSizeInGB: 2 ** 53 }, /CacheQuotaSizeInGB is too large/],
    [{ aws_region: "mars-1" }, /aws_region must be one of us-east-1/],
    [{ idle_cluster_timeout: 7 }, /idle_cluster_timeout must be at most 6/],
    [{ idle_cluster_timeout: -1 }, /idle_cluster_timeout must be at least 0/],
    [{ idle_cluster_timeout_in_secs: 299 }, /idle_cluster_timeout_in_secs must be at least 300/],
    [{ idle_cluster_timeout_in_secs: 2147483648 }, /idle_cluster_timeout_in_secs must be at most/],
    [{ idle_session_timeout: 10801 }, /idle_session_timeout must be at most 10800/],
    [{ idle_session_timeout: 0 }, /idle_session_timeout must be at least 1/],
    [{ sub_account_creation: "maybe" }, /sub_account_creation must be a boolean/],
    [{ role_arn: "arn:aws:iam::123456789012:role/x" }, /role_arn cannot be set through the API/],
    [{ defloc: "bucket/prefix" }, /^defloc must begin with s3:\/\/, .*; it has no scheme\. For a bucket, write s3:/],
    [{ defloc: "gs://bucket/prefix" }, /^defloc must begin with s3:\/\/, .*; gs:\/\/ is not supported$/],
    [{ defloc: "S3://bucket/prefix" }, /^defloc must begin with s3:\/\/, .*; S3:\/\/ is not supported$/],
    [{ defloc: "AKIAIOSFODNN7EXAMPLE:secret" }, /^defloc must begin with s3:\/\/, [^A]*; it has no scheme\./],
    [
      { defloc: "file:///etc" },
      /^defloc must begin with s3:\/\/, .*\. To store files on the server, leave defloc out$/,
    ],
    [{ defloc: "s3:bucket/prefix" }, /^defloc must have \/\/ after s3:$/],
    [{ defloc: "s3a:/bucket/prefix" }, /^defloc must have \/\/ after s3a:$/],
    [{ defloc: "s3://" }, /^defloc must name a bucket of 3 to 63 characters/],
    [{ defloc: "s3://b/p" }, /^defloc must name a bucket of 3 to 63 characters/],
    [{ defloc: "s3a://b0" }, /^defloc must name a bucket of 3 to 63 characters/],
    [{ defloc: `s3://${"b".repeat(64)}/p` }, /^defloc must name a bucket of 3 to 63 characters/],
    [{ defloc: "s3://bucket-/p" }, /^defloc must name a bucket that begins and ends with/],
    [{ defloc: "s3://key:secret@bucket/p" }, /^defloc must not contain keys: send them as storage_access_key/],
    [{ defloc: "s3://b*cket/p" }, /^defloc must name a bucket of letters, digits/],
    [{ defloc: `s3://bucket/${"\u00fc".repeat(600)}` }, /^defloc must have a key of at most 1024 bytes/],
    [{ defloc: "hdfs://[::1]:8020/x" }, /^defloc must name a host and port/],
    [{ defloc: "s3://bucket/a\nb" }, /^defloc must not contain control characters$/],
    [{ defloc: "hdfs://host:8020" }, /^defloc must have a path after the host/],
    [{ defloc: "hdfs://host/a?b" }, /^defloc must not contain \? or #$/],
    [{ defloc: "hdfs://host//x" }, /^defloc must have no empty name/],
    [{ defloc: "hdfs:////x" }, /^defloc must have no empty name/],
    [{ defloc: "s3://bucket/a//x" }, /^defloc must have no empty name/],
    [{ defloc: "s3://bucket//" }, /^defloc must have no empty name/],
    [{ defloc: "s3://bucket/a/../x" }, /^defloc must have no empty name and no '.' or '..' in its path$/],
    [{ defloc: "hdfs://user:pw@host/x" }, /defloc must name a host/],
    [{ defloc: "hdfs://169.254.169.254/x" }, /defloc must not be a link-local/],
    [{ defloc: `s3://bucket/${"x".repeat(1024)}` }, /defloc must have at most 1024/],
    [{ storage_endpoint: "s3.example.com" }, /storage_endpoint must be an http/],
    [{ storage_endpoint: "ftp://s3.example.com" }, /storage_endpoint must be an http/],
    [{ storage_endpoint: "https://u:p@s3.example.com" }, /storage_endpoint must be an http/],
    [{ storage_endpoint: "https://s3.example.com?x=1" }, /storage_endpoint must be an http/],
    [{ storage_endpoint: "http://169.254.169.254/latest" }, /storage_endpoint must not be a link-local/],
    [{ storage_endpoint: "http://10.0.0.1:9000" }, /storage_endpoint .*HEADGATE_ALLOWED_NETWORKS/],
    [{ storage_endpoint: "http://0x0a.1:9000" }, /storage_endpoint .*HEADGATE_ALLOWED_NETWORKS/],
    [{ acc_key: "A".repeat(256) }, /acc_key must have at most 255/],
    [{ secret: "A".repeat(1025) }, /secret must have at most 1024/],
    [{ acc_key: "one", storage_access_key: "two" }, /acc_key must be the same as storage_access_key/],
  ])("refuses %j and creates no account", async (fields, message) => {
    const creator = await given.account({ features: ["aggressive_downscaling"] });
    const before = await accountCount();
    await creator.post(V2, { account: { name: "Refused", ...fields } }).refused(422, message);
    expect(await accountCount()).toBe(before);
  });

  test("refuses a body without account, or with one that is not an object", async () => {
    const creator = await given.account();
    await creator.post("/account", {}).refused(422, /^account is required/);
    await creator.post("/account", { name: "flat" }).refused(422, /^account is required/);
    await creator.post("/account", { account: "x" }).refused(422, /^account must be an object/);
  });

  test("an idle time in seconds needs the feature in the new account, whatever features the caller's account has", async () => {
    const creator = await given.account({ features: ["aggressive_downscaling"] });
    const before = await accountCount();
    await creator
      .post(V2, { account: { name: "Quick", idle_cluster_timeout_in_secs: 7200 } })
      .refused(
        422,
        /^idle_cluster_timeout_in_secs needs the feature aggressive_downscaling, which new accounts do not/,
      );
    expect(await accountCount()).toBe(before);
  });

  test("an idle time in seconds is accepted if new accounts have the feature, whatever features the caller's account has", async () => {
    const creator = await quick.account();
    const { authentication_token: token } = await creator.post(V2, {
      account: { name: "Quick", idle_cluster_timeout_in_secs: 7200 },
    });
    expect(await new Client(quick.base, token).get(V2)).toMatchObject({ idle_cluster_timeout_in_secs: 7200 });
  });

  test("loopback endpoints are accepted if the server itself listens only on loopback", async () => {
    const creator = await given.account();
    for (const endpoint of ["http://127.0.0.1:9000", "http://localhost:9000", "http://[::1]:9000"]) {
      await creator.post(V2, { account: { name: "Local", storage_endpoint: endpoint } });
    }
  });
});

describe("POST account: ownership", () => {
  test("a sub-account has the plan of its parent, any other the free plan", async () => {
    const creator = await given.account();
    await given.app.services.db.system.query("update account set plan = 'business' where id = $1", [creator.accountId]);
    for (const [sub_account_creation, plan] of [
      [true, "business"],
      ["True", "business"],
      [false, "free"],
    ]) {
      const reply = await creator.post(V2, { account: { name: "Child", sub_account_creation } });
      expect((await new Client(given.base, reply.authentication_token).get("/account")).plan).toBe(plan);
    }
  });

  test("the creator is the same user in both accounts, and the only administrator of the new one", async () => {
    const parent = await given.account();
    const member = await given.member(parent, { groups: ["system-user"] });
    const { authentication_token: token, account_id: id } = await member.post("/account", { account: { name: "Own" } });
    const rows = await given.app.services.db.system.query(
      `select m.account_id, m.is_operator, m.state from membership m join app_user u on u.id = m.user_id
        where u.email = $1 order by m.id`,
      [member.email],
    );
    expect(rows).toEqual([
      { account_id: parent.accountId, is_operator: false, state: "active" },
      { account_id: id, is_operator: false, state: "active" },
    ]);
    expect((await new Client(given.base, token).get("/account")).id).toBe(id);
    expect((await member.get("/account")).id).toBe(parent.accountId);
  });

  test("is refused to a member without a role", async () => {
    const member = await given.member(await given.account());
    const before = await accountCount();
    await member.post("/account", { account: { name: "No" } }).refused(403, /account:create/);
    expect(await accountCount()).toBe(before);
  });

  test("is audited in the creator's account", async () => {
    const creator = await given.account();
    const { account_id: id } = await creator.post(V2, { account: { name: "Told" } });
    const rows = await given.app.services.db.system.query(
      "select operation, object, outcome, email from audit_event where account_id = $1",
      [creator.accountId],
    );
    expect(rows).toEqual([
      { operation: "account_create", object: `account/${id}`, outcome: "done", email: creator.email },
    ]);
  });

  test("requests with the same Idempotency-Key create one account and return the same token", async () => {
    const creator = await given.account();
    const headers = { "Idempotency-Key": "create-once" };
    const before = await accountCount();
    const first = await creator.post(V2, { account: { name: "Once" } }, { headers });
    expect(await creator.post(V2, { account: { name: "Once" } }, { headers })).toEqual(first);
    expect(await accountCount()).toBe(before + 1);
  });

  test("only the version that has a successor is marked as deprecated", async () => {
    const creator = await given.account();
    const old = await creator.post("/account", { account: { name: "Old" } }).reply();
    expect(old.headers.get("deprecation")).toMatch(/^@\d+$/);
    expect(old.headers.get("link")).toBe('</api/v2/accounts>; rel="successor-version"');
    const current = await creator.post(V2, { account: { name: "New" } }).reply();
    expect(current.headers.get("deprecation")).toBeNull();
  });
});

describe("the number of accounts that a user may create", () => {
  const statusesOf = async (creator: Client, attempts: number): Promise<number[]> => {
    const replies = Array.from({ length: attempts }, () => creator.post(V2, { account: { name: "More" } }).reply());
    return (await Promise.all(replies)).map(({ status }) => status).toSorted((one, other) => one - other);
  };

  test("is limited, also for concurrent requests and through their other accounts", async () => {
    const creator = await quick.account(); // the first of three
    expect(await statusesOf(creator, 6)).toEqual([200, 200, 422, 422, 422, 422]);
    await creator.post(V2, { account: { name: "More" } }).refused(422, /^account cannot .* at most 3 accounts/);
    const { authentication_token: token } = await (await quick.account()).post(V2, { account: { name: "Second" } });
    const throughSecond = new Client(quick.base, token);
    expect(await statusesOf(throughSecond, 3)).toEqual([200, 422, 422]);
  });

  test("does not count accounts that others created, and does not apply to operators", async () => {
    const account = await quick.account();
    const member = await quick.member(account, { groups: ["system-user"] });
    expect(await statusesOf(member, 4)).toEqual([200, 200, 200, 422]);
    expect(await statusesOf(await quick.operator(), 5)).toEqual([200, 200, 200, 200, 200]);
  });
});
