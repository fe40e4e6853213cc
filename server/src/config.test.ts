import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import { exampleFile } from "./config/example-file.ts";
import { describeDefault } from "./config/setting.ts";
import { settingList } from "./config/settings.ts";
import { exposureWarning, isLoopback, readConfig, type Config, type Environment } from "./config.ts";
import { Fault } from "./lib/fault.ts";

function read(env: Environment, files: Record<string, string> = {}, isRoot = false): Config {
  const readFile = (path: string): string => {
    const text = files[path];
    if (text === undefined) throw new Error(`ENOENT: no such file, open '${path}'`);
    return text;
  };
  return readConfig({ HOME: "/home/ada", ...env }, { repositoryDir: "/repo", isRoot, readFile });
}

function problems(env: Environment, files: Record<string, string> = {}): string[] {
  try {
    read(env, files);
  } catch (error) {
    if (error instanceof Fault && error.code === "invalid") return error.publicMessage.split("\n");
    throw error;
  }
  return [];
}

test("without settings, the documented defaults apply", () => {
  expect(read({})).toEqual({
    host: "127.0.0.1",
    port: 8470,
    dataDir: "/repo/data",
    cacheDir: "/home/ada/.cache/headgate",
    sparkHome: null,
    javaHome: null,
    adminEmail: "admin@localhost",
    databaseUrl: null,
    keyFile: "/repo/data/keys",
    configFile: null,
    identifierPrefix: "svc",
    commandTimes: "iso",
    sensorStatus: "text",
    trustedProxies: [],
    proxySocket: null,
    proxySecretFile: null,
    rateLimitPerSecond: 200,
    rateBurst: 1000,
    badTokenLimitPerMinute: 100,
    nodeAddress: null,
    s3Endpoint: null,
    retainAuditDays: 400,
    retainIdempotencyHours: 24,
    lowDiskPercent: 5,
    defaultFeatures: [],
    allowedNetworks: ["127.0.0.0/8", "::1/128"],
    hadoopConfs: new Map(),
    memoryBudgetMiB: null,
    accountsPerUser: 20,
    connections: 4000,
    accountBodiesMiB: 64,
    nodeBodiesMiB: 256,
    commandsPerAccount: 20,
    commandsPerCluster: 8,
    timeoutCheckSeconds: 60,
    leaseSeconds: 600,
    orphanMinutes: 10,
    logLimitMiB: 100,
    inlineResultLimitMiB: 20,
    outputLimitMiB: 10_240,
    runProcesses: null,
    runSessions: 32,
    runMemoryMiB: null,
    accountMemory: { percent: 50 },
    runDisk: { percent: 50 },
    runNice: 19,
    accountDisk: { percent: 50 },
    retainResultsDays: 30,
    retainLogsDays: 30,
    retainSizeMiB: 102_400,
    isolation: "auto",
    passphrase: null,
    logLevel: "info",
    logFormat: "auto",
    warnings: [],
  } satisfies Config);
});

test("root has its data and cache outside its home", () => {
  const { dataDir, cacheDir, keyFile } = read({}, {}, true);
  expect({ dataDir, cacheDir, keyFile }).toEqual({
    dataDir: "/var/lib/headgate",
    cacheDir: "/var/cache/headgate",
    keyFile: "/var/lib/headgate/keys",
  });
});

test("the key file is in the data directory by default, and relative paths start at the repository", () => {
  expect(read({ HEADGATE_DATA_DIR: "../elsewhere" }).keyFile).toBe("/elsewhere/keys");
  expect(read({ HEADGATE_DATA_DIR: "/srv/hg", HEADGATE_KEY_FILE: "k" }).keyFile).toBe("/repo/k");
});

test("the cache is in XDG_CACHE_HOME if that is absolute, and must be set without HOME", () => {
  expect(read({ XDG_CACHE_HOME: "/tmp/xdg" }).cacheDir).toBe("/tmp/xdg/headgate");
  expect(read({ XDG_CACHE_HOME: "xdg" }).cacheDir).toBe("/home/ada/.cache/headgate");
  expect(problems({ HOME: undefined })).toEqual(["HEADGATE_CACHE_DIR must be set if the environment has no HOME"]);
  expect(problems({ HOME: undefined, HEADGATE_CACHE_DIR: "/c" })).toEqual([]);
});

test("the configuration and its lists are frozen", () => {
  const config = read({ HEADGATE_FEATURES: "script_macros" });
  expect(Object.isFrozen(config)).toBe(true);
  for (const list of [config.trustedProxies, config.defaultFeatures, config.allowedNetworks]) {
    expect(Object.isFrozen(list)).toBe(true);
  }
});

describe("values", () => {
  test.each([
    ["HEADGATE_PORT", "abc", 'must be an integer from 0 to 65535, not "abc"'],
    ["HEADGATE_PORT", "65536", 'must be an integer from 0 to 65535, not "65536"'],
    ["HEADGATE_PORT", "-1", 'must be an integer from 0 to 65535, not "-1"'],
    ["HEADGATE_PORT", "80.5", 'must be an integer from 0 to 65535, not "80.5"'],
    ["HEADGATE_PORT", "0x50", 'must be an integer from 0 to 65535, not "0x50"'],
    ["HEADGATE_HOST", "http://here", "must be an IP address or a host name"],
    ["HEADGATE_DATA_DIR", "~/data", "must be a path"],
    ["HEADGATE_ADMIN_EMAIL", "ada", "must be an e-mail address"],
    ["HEADGATE_IDENTIFIER_PREFIX", "Svc", "must be 1 to 16 lower-case letters and digits"],
    ["HEADGATE_TRUSTED_PROXIES", "10.0.0.1/8", "must be a comma-separated list of IP addresses or CIDR blocks"],
    ["HEADGATE_TRUSTED_PROXIES", "010.0.0.1", "must be a comma-separated list of IP addresses or CIDR blocks"],
    ["HEADGATE_TRUSTED_PROXIES", "10.0.0.0/33", "must be a comma-separated list of IP addresses or CIDR blocks"],
    ["HEADGATE_TRUSTED_PROXIES", "10.0.0.1,", "must be a comma-separated list of IP addresses or CIDR blocks"],
    ["HEADGATE_ALLOWED_NETWORKS", "fe80::1%eth0", "must be a comma-separated list of IP addresses or CIDR blocks"],
    ["HEADGATE_HADOOP_CONFS", "/etc/hadoop", "must be a comma-separated list of name=/absolute/folder"],
    ["HEADGATE_HADOOP_CONFS", "prod=etc/hadoop", "must be a comma-separated list of name=/absolute/folder"],
    ["HEADGATE_HADOOP_CONFS", "a b=/etc/hadoop", "must be a comma-separated list of name=/absolute/folder"],
    ["HEADGATE_S3_ENDPOINT", "s3.example", "must be an http:// or https:// address"],
    ["HEADGATE_S3_ENDPOINT", "https://key@s3.example", "must be an http:// or https:// address"],
    ["HEADGATE_FEATURES", "macros", "must be a comma-separated list of ip_whitelisting"],
    ["HEADGATE_LOG_LEVEL", "loud", "must be one of trace, debug, info"],
    ["HEADGATE_LOG_FORMAT", "pretty", "must be one of auto, text, json"],
    ["HEADGATE_RETAIN_AUDIT", "0", "must be an integer from 1 to 36500"],
    ["HEADGATE_RETAIN_IDEMPOTENCY", "x", "must be an integer from 1 to 8760"],
    ["HEADGATE_OUTPUT_LIMIT", "big", "must be a size such as 10g or 500m, or 0"],
    ["HEADGATE_RUN_PROCESSES", "3", "must be 0, or an integer from 16 to 1000000"],
    ["HEADGATE_RUN_DISK", "101%", "must be a share of the disk such as 50%, a size such as 100g, or 0"],
    ["HEADGATE_RUN_NICE", "-1", "must be an integer from 0 to 19"],
    ["HEADGATE_LOW_DISK", "100", "must be an integer from 0 to 99"],
    ["HEADGATE_RATE_LIMIT", "many", "must be an integer from 0 to 1000000"],
    ["HEADGATE_BAD_TOKEN_LIMIT", "1e9", "must be an integer from 0 to 1000000"],
  ])("%s=%s is refused with its rule", (name, text, rule) => {
    const [first, ...rest] = problems({ [name]: text });
    expect(first).toContain(`${name} ${rule}`);
    expect(rest).toEqual([]);
  });

  test("lists are split, trimmed and deduplicated; none is the empty list", () => {
    expect(read({ HEADGATE_TRUSTED_PROXIES: "10.0.0.0/8, fd00::1 ,10.0.0.0/8" }).trustedProxies).toEqual([
      "10.0.0.0/8",
      "fd00::1",
    ]);
    expect(read({ HEADGATE_ALLOWED_NETWORKS: "none" }).allowedNetworks).toEqual([]);
    expect(read({ HEADGATE_ALLOWED_NETWORKS: "2001:db8::/32" }).allowedNetworks).toEqual(["2001:db8::/32"]);
    expect(read({ HEADGATE_FEATURES: "large_scripts,script_macros" }).defaultFeatures).toEqual([
      "large_scripts",
      "script_macros",
    ]);
  });

  test("Hadoop configurations are folders by name", () => {
    expect([...read({ HEADGATE_HADOOP_CONFS: "prod=/etc/hadoop/prod, dev=/srv/dev" }).hadoopConfs]).toEqual([
      ["prod", "/etc/hadoop/prod"],
      ["dev", "/srv/dev"],
    ]);
  });

  test("a trailing slash of the S3 endpoint is removed", () => {
    expect(read({ HEADGATE_S3_ENDPOINT: "http://127.0.0.1:9000/" }).s3Endpoint).toBe("http://127.0.0.1:9000");
  });

  // It matters only on the first start, which refuses a slash.
  test("an e-mail address of an earlier version can have a slash", () => {
    expect(read({ HEADGATE_ADMIN_EMAIL: "ops/team@example.test" }).adminEmail).toBe("ops/team@example.test");
  });

  test("the burst is five seconds of the rate, and no rate limit means no burst", () => {
    expect(read({ HEADGATE_RATE_LIMIT: "10" }).rateBurst).toBe(50);
    expect(read({ HEADGATE_RATE_LIMIT: "0" }).rateBurst).toBe(0);
  });

  test("an empty value counts as not set", () => {
    expect(read({ HEADGATE_PORT: " ", DATABASE_URL: "" })).toEqual(read({}));
  });

  test("all invalid settings are reported together, one per line", () => {
    expect(problems({ HEADGATE_PORT: "abc", HEADGATE_LOG_LEVEL: "loud" })).toEqual([
      'HEADGATE_PORT must be an integer from 0 to 65535, not "abc"',
      'HEADGATE_LOG_LEVEL must be one of trace, debug, info, warn, error, fatal, silent, not "loud"',
    ]);
  });

  test("an unknown variable causes a warning with the nearest setting and does not stop the start", () => {
    const { warnings, port } = read({ HEADGATE_POTR: "1", HEADGATE_PORT: "99" });
    expect(warnings).toEqual([
      "the variable HEADGATE_POTR is not a setting and has no effect; did you mean HEADGATE_PORT?",
    ]);
    expect(port).toBe(99);
  });

  test("an unknown variable that resembles no setting gets no suggestion", () => {
    expect(read({ HEADGATE_FOO_BAR: "1" }).warnings).toEqual([
      "the variable HEADGATE_FOO_BAR is not a setting and has no effect",
    ]);
  });

  test("variables of other programs cause no warning", () => {
    expect(read({ PGHOST: "x", HEADGATER: "1", HEADGATE_CONFIG: "" }).warnings).toEqual([]);
  });

  test("control characters in the name of an unknown variable do not reach the terminal", () => {
    expect(read({ "HEADGATE_\u001b[2J\n": "1" }).warnings.join()).toContain("HEADGATE_\\u001b[2J\\u000a ");
  });
});

describe("trusted proxies", () => {
  const SOCKET = { HEADGATE_PROXY_SOCKET: "/run/headgate/proxy.sock" };
  const SECRET = { HEADGATE_PROXY_SECRET_FILE: "/etc/headgate/proxy-secret" };

  test.each([
    "127.0.0.1",
    "127.9.9.9",
    "127.0.0.0/8",
    "127.1.2.0/24",
    "0.0.0.0/0",
    "64.0.0.0/2",
    "::1",
    "::/0",
    "::/127",
    "::ffff:127.0.0.1",
    "::ffff:127.0.0.0/104",
    "::ffff:0:0/96",
  ])("on this machine (%s) must prove themselves, and the refusal says how", (network) => {
    const HEADGATE_TRUSTED_PROXIES = `10.0.0.0/8,${network}`;
    const [problem, ...rest] = problems({ HEADGATE_TRUSTED_PROXIES });
    expect(problem).toContain(`must not include loopback addresses (${network}) unless the proxy proves itself`);
    expect(problem).toMatch(/set HEADGATE_PROXY_SOCKET and .* or set HEADGATE_PROXY_SECRET_FILE and .*network\.md/);
    expect(rest).toEqual([]);
    for (const proof of [SOCKET, SECRET]) expect(problems({ HEADGATE_TRUSTED_PROXIES, ...proof })).toEqual([]);
  });

  test.each(["10.0.0.0/8", "128.0.0.0/1", "126.0.0.0/8", "fd00::/8", "::ffff:10.0.0.0/104", "2000::/3"])(
    "on other machines (%s) may prove themselves by their address",
    (network) => {
      expect(read({ HEADGATE_TRUSTED_PROXIES: network }).trustedProxies).toEqual([network]);
    },
  );

  test("must be listed if there is a secret", () => {
    expect(problems(SECRET)).toEqual([expect.stringContaining("no effect without HEADGATE_TRUSTED_PROXIES")]);
  });

  test("that cannot be read are the only problem reported", () => {
    const unreadable = { HEADGATE_TRUSTED_PROXIES: "proxy.example" };
    expect(problems({ ...unreadable, ...SECRET })).toEqual([
      expect.stringMatching(/^HEADGATE_TRUSTED_PROXIES must be/),
    ]);
  });

  test("cannot use a socket whose path is too long for the system", () => {
    expect(problems({ HEADGATE_PROXY_SOCKET: `/run/${"a".repeat(98)}` })).toEqual([]);
    expect(problems({ HEADGATE_PROXY_SOCKET: `/run/${"a".repeat(99)}` })).toEqual([
      expect.stringContaining("HEADGATE_PROXY_SOCKET must be a path of at most 103 bytes"),
    ]);
  });
});

describe("the database address", () => {
  const url = "postgres://hg:hunter2@db.example/hg";

  test("is revealed only on request", () => {
    const config = read({ DATABASE_URL: url });
    expect(config.databaseUrl?.reveal()).toBe(url);
    for (const shown of [
      JSON.stringify(config),
      inspect(config, { depth: 9, showHidden: true }),
      String(config.databaseUrl),
    ]) {
      expect(shown).toContain("********");
      expect(shown).not.toContain("hunter2");
    }
  });

  test("is not quoted if it is invalid", () => {
    expect(problems({ DATABASE_URL: "mysql://hg:hunter2@db" })).toEqual([
      "DATABASE_URL must be a postgres:// or postgresql:// address",
    ]);
  });
});

describe("the file", () => {
  const env = { HEADGATE_CONFIG: "hg.env" };

  test("sets values that the environment does not set", () => {
    const text =
      "\uFEFF# a comment\r\n\r\nHEADGATE_PORT = '9000'\r\nHEADGATE_HOST=\"0.0.0.0\"\nDATABASE_URL=postgres://u:p#1@h/d\n";
    const config = read({ ...env, HEADGATE_HOST: "::1" }, { "/repo/hg.env": text });
    expect({ ...config, databaseUrl: config.databaseUrl?.reveal() }).toMatchObject({
      port: 9000,
      host: "::1",
      databaseUrl: "postgres://u:p#1@h/d",
    });
  });

  test("that cannot be read stops the start", () => {
    expect(problems(env)).toEqual(["HEADGATE_CONFIG cannot be read: ENOENT: no such file, open '/repo/hg.env'"]);
  });

  test("is checked line by line without quoting possible secrets", () => {
    const text = "DATABASE_URL postgres://u:hunter2@h/d\nHEADGATE_PORT=1\nHEADGATE_PORT=2\nPORT=3\n";
    expect(problems(env, { "/repo/hg.env": text })).toEqual([
      "/repo/hg.env: line 1 is not KEY=value",
      "/repo/hg.env: line 3 sets HEADGATE_PORT a second time",
      "PORT in /repo/hg.env is not a setting; did you mean HEADGATE_PORT?",
    ]);
  });
});

describe("the example file", () => {
  // `vitest run server/src/config -u` regenerates it after a change of the table.
  test("is generated from the table", async () => {
    await expect(exampleFile()).toMatchFileSnapshot("../../headgate.env.example");
  });

  test("gives the defaults if every line is uncommented", () => {
    const active = exampleFile().replaceAll(/^#(?=[A-Z_0-9]+=)/gm, "");
    expect(active.match(/^[A-Z_0-9]+=/gm)).toHaveLength(settingList.length);
    const filled = read({ HEADGATE_CONFIG: "all" }, { "/repo/all": active });
    expect(filled).toEqual({ ...read({}), configFile: "/repo/all" });
  });

  test("has at most 120 columns", () => {
    expect(
      exampleFile()
        .split("\n")
        .filter((line) => line.length > 120),
    ).toEqual([]);
  });
});

test("every setting shows its rule and its default", () => {
  for (const setting of settingList) {
    expect(setting.description).toMatch(/^[A-Z].*\.$/);
    expect(setting.allowed).not.toBe("");
    expect(describeDefault(setting)).not.toBe("");
  }
});

test.each([
  ["127.0.0.1", true],
  ["127.9.9.9", true],
  ["::1", true],
  ["::ffff:127.0.0.1", true],
  ["localhost", true],
  ["0.0.0.0", false],
  ["::", false],
  ["10.0.0.1", false],
  ["headgate.example", false],
])("%s is loopback: %s", (host, expected) => {
  expect(isLoopback(host)).toBe(expected);
  expect(read({ HEADGATE_HOST: host }).allowedNetworks).toHaveLength(expected ? 2 : 0);
  const urls = ["http://127.0.0.1:8470", `http://${host.includes(":") ? `[${host}]` : host}:8470`];
  expect(exposureWarning(urls) === null).toBe(expected);
});
