import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { SubmissionBody } from "../src/commands/submission/body.ts";
import { escapeHtml } from "../src/http/html.ts";
import { headgateOpenApi } from "../src/openapi-document.ts";
import { endpoints } from "../src/routes.ts";
import { runCurlLine, type Answer } from "./support/curl-lines.ts";
import { RECORDED_PROGRAM, recordAnswers } from "./support/example-answers.ts";
import { useServer, type AccountClient } from "./support/given.ts";
import { runProgram } from "./support/programs.ts";
import { rawRequest } from "./support/raw-request.ts";
import { stubDriver } from "./support/stub-driver.ts";

const folder = mkdtempSync(join(tmpdir(), "headgate-reference-"));
afterAll(() => rmSync(folder, { recursive: true }));

const proxySocket = join(folder, "proxy.sock");
const given = useServer({ driver: stubDriver, settings: { HEADGATE_PROXY_SOCKET: proxySocket } });
const renamed = useServer({ settings: { HEADGATE_IDENTIFIER_PREFIX: "acme" } });

interface CurlLine {
  readonly id: string;
  readonly line: string;
}

async function pageOf(base: string): Promise<string> {
  return (await fetch(`${base}/docs`)).text();
}

async function curlLines(base: string): Promise<CurlLine[]> {
  const lines = (await pageOf(base)).matchAll(/<pre class="curl" data-operation="(\w+)">\n?([^<]*)<\/pre>/g);
  return [...lines].map(([, id = "", line = ""]) => ({ id, line: unescaped(line) }));
}

/** The text of an operation's entry, without tags. */
async function entryOf(id: string): Promise<string> {
  const [, entry = ""] = new RegExp(`<article id="${id}">([^]*?)</article>`).exec(await pageOf(given.base)) ?? [];
  return unescaped(entry.replaceAll(/<[^>]*>/g, ""))
    .replaceAll(/\s+/g, " ")
    .trim();
}

function unescaped(text: string): string {
  return text.replaceAll(/&#(\d+);/g, (_, code: string) => String.fromCharCode(Number(code)));
}

/** The values that a reader would fill in because the page cannot know them. */
async function readersValues(operator: AccountClient) {
  const finished = await runProgram(operator, RECORDED_PROGRAM);
  const app = await operator.post("/api/v2/apps", { name: "one" });
  const member = await given.member(operator);
  const policies = [{ resource: "command", action: ["read"], access: "allow" }];
  const { roles: role } = await operator.post("/roles", { name: "one", policies });
  const { group } = await operator.post("/groups", { name: "one", members: member.email, roles: "one" });
  const cluster = await operator.post("/api/v2/clusters", { labels: ["one"], engine: { type: "local" } });
  const { folder } = await operator.post("/folders", { name: "one", location: "Common", type: "notes" });
  const note = await operator.post("/notebooks", { name: "one" });
  const dashboard = await operator.post("/notebook_dashboards", { note_id: note.id, name: "one" });
  await operator.post("/whitelist_ip", { ip_cidr: "198.51.100.1" });
  await operator.post("/whitelist_ip", { ip_cidr: "198.51.100.2" });
  const { account_whitelisted_ips: addresses } = await operator.get("/whitelist_ip");
  const ids = (addresses as { id: number }[]).map(({ id }) => String(id));
  const { invitation_code: code } = await operator.post("/users/invite_new", { invitee_email: "eve@example.test" });
  const pending = await operator.post("/users/invite_new", { invitee_email: "bob@example.test" });
  await operator.post("/api/v2/invitations/accept", { code: pending.invitation_code, name: "Bob" });
  const { nodes } = await operator.get("/api/v2/nodes");
  return {
    code: String(code),
    member: member.email,
    ids,
    variables: {
      TOKEN: operator.token ?? "",
      COMMAND_ID: String(finished),
      APP_ID: String(app.id),
      GROUP_ID: String(group.id),
      ROLE_ID: String(role.id),
      CLUSTER_ID: String(cluster.id),
      NOTE_ID: String(note.id),
      DASHBOARD_ID: String(dashboard.id),
      SOURCE_ID: String(cluster.id),
      FOLDER_ID: String(folder.id),
      ACCOUNT_ID: String(operator.accountId),
      NODE_ID: String(nodes[0].id),
      USERS: member.email,
      SCHEMA: "default",
      TABLE: "orders",
    },
  };
}

/**
 * These need a table, which only Spark could create here. The refusal must come from the operation, not from the
 * router.
 */
const WITHOUT_TABLE: Readonly<Record<string, [status: number, message: RegExp]>> = {
  hive_table: [404, /./],
  hive_table_properties: [404, /./],
  hive_partitions: [404, /./],
  partition_sensor_create: [422, /Table can't be found in metastore/],
  // These would need the keys of a store, which no line can know.
  file_sensor_create: [422, /no keys for S3: set storage_access_key/],
};

describe("the curl lines of the reference", () => {
  let lines: CurlLine[] = [];
  const answers = new Map<string, Answer>();

  beforeAll(async () => {
    const operator = await given.operator();
    lines = await curlLines(given.base);
    const { variables, ids, code, member } = await readersValues(operator);
    const isDelete = ({ line }: CurlLine): boolean => line.includes("-X DELETE");
    // The order of the page, except that deletions come last; the older version of a deletion deletes another object.
    for (const { id, line } of [...lines.filter((each) => !isDelete(each)), ...lines.filter(isDelete)]) {
      const filled = line
        .replace('"the-code-of-the-invitation"', JSON.stringify(code))
        .replace('"the-id-of-the-cluster"', JSON.stringify(variables.CLUSTER_ID))
        .replace('"note_id":1', `"note_id":${variables.NOTE_ID}`)
        .replace('"svc_user_id":"ada@example.com"', `"svc_user_id":${JSON.stringify(member)}`);
      answers.set(id, await runCurlLine(filled, { ...variables, IDS: line.includes("$IDS") ? (ids.pop() ?? "") : "" }));
    }
  });

  // npm run generate:answers
  afterAll(() => {
    const given200 = [...answers].filter(([, { status }]) => status === 200);
    if (process.env["RECORD_ANSWERS"]) recordAnswers(new Map(given200.map(([id, { text }]) => [id, text])));
  });

  test("exist for every operation", () => {
    expect(lines.length).toBeGreaterThanOrEqual(endpoints.length);
    for (const { id } of endpoints) expect(lines.map((each) => each.id)).toContain(id);
  });

  test("use the address by which the browser reached this server", () => {
    for (const { id, line } of lines) expect(line, id).toContain(` "${given.base}/api/`);
  });

  test("work when they are pasted", () => {
    const failed = [...answers].filter(([id, { status }]) => status !== 200 && WITHOUT_TABLE[id] === undefined);
    expect(failed).toEqual([]);
  });

  test("fail only because of a missing table or store, if they need one", () => {
    for (const [id, [status, message]] of Object.entries(WITHOUT_TABLE)) {
      expect(answers.get(id)?.status, id).toBe(status);
      expect(answers.get(id)?.text, id).toMatch(message);
    }
  });

  test("use the deployment's prefix", async () => {
    const enable = (await curlLines(renamed.base)).find(({ id }) => id === "user_enable");
    expect(enable?.line).toContain("/accounts/enable_acme_user");
    expect(enable?.line).toContain('"acme_user_id"');
  });
});

describe("the reference", () => {
  test("begins with commands, and with submitting one", async () => {
    const page = await pageOf(given.base);
    const chapters = [...page.matchAll(/<section id="[\w-]+">\s*<h2>([^<]+)<\/h2>/g)].map(([, name]) => name);
    expect(chapters.slice(0, 3)).toEqual(["Commands", "Hive", "Sensors"]);
    expect(chapters.at(-1)).toBe("Operator");
    const [first] = await curlLines(given.base);
    expect(first?.id).toBe("command_submit");
  });

  test("shows a query from start to result before anything else", async () => {
    const operator = await given.operator();
    const [intro = ""] = (await pageOf(given.base)).split("<section");
    const lines = [...intro.matchAll(/<pre class="curl">([^<]*)<\/pre>/g)].map(([, line = ""]) => unescaped(line));
    expect(lines).toHaveLength(3);
    const [, submit = "", read = ""] = lines;
    const [, call = "", rest = ""] = /^COMMAND_ID=\$\((curl .*?') (\| sed .*)\)$/.exec(submit) ?? [];
    const submitted = await runCurlLine(call, { TOKEN: operator.token ?? "" });
    expect(submitted.status, call).toBe(200);
    const id = execFileSync("/bin/sh", ["-c", `cat ${rest}`], { input: submitted.text, encoding: "utf8" }).trim();
    expect(id).toBe(String(JSON.parse(submitted.text).id));
    const answer = await runCurlLine(read.replace("wait_seconds=60", "wait_seconds=0"), {
      TOKEN: operator.token ?? "",
      COMMAND_ID: id,
    });
    expect(answer.status, answer.text).toBe(200);
  });

  test("shows the versions of an operation as one entry with all paths, and where they differ", async () => {
    const page = await pageOf(given.base);
    const same = await entryOf("whitelist_ip_list");
    expect(same).toMatch(
      /^List.* GET \/api\/v2\/accounts\/whitelist_ip GET \/api\/v2\/whitelist_ip GET \/api\/v1.2\/whitelist_ip deprecated /,
    );
    const mirrored = await entryOf("command_submit");
    expect(mirrored).toMatch(/^Submit a command POST \/api\/v1.2\/commands POST \/api\/v2\/commands /);
    const different = await entryOf("cluster_list");
    expect(different).toMatch(/^List clusters GET \/api\/v2\/clusters GET \/api\/v1.2\/clusters /);
    expect(different).toContain("Where v1.2 differs: /api/v1.2/clusters");
    // Links to an older version lead into the entry.
    const ids = Object.values(headgateOpenApi().paths).flatMap((item) =>
      Object.values(item).map(({ operationId }) => operationId),
    );
    for (const id of ids) expect(page.split(` id="${id}"`), id).toHaveLength(2);
  });

  test("shows an example answer for every operation", async () => {
    const page = await pageOf(given.base);
    const entries = [...page.matchAll(/<article id="(\w+)">([^]*?)<\/article>/g)];
    expect(entries.length).toBeGreaterThan(90);
    const shown = new Map(
      entries.map(([, id = "", entry = ""]) => {
        const [, text] = /<pre class="answer" tabindex="0">\n?([^<]*)<\/pre>/.exec(entry) ?? [];
        return [id, text === undefined ? undefined : unescaped(text)];
      }),
    );
    expect([...shown].filter(([, answer]) => answer === undefined)).toEqual([]);
    expect(JSON.parse(shown.get("command_status_with_results") ?? "")).toEqual({
      id: 1,
      status: "done",
      progress: 100,
      error: null,
      inline: true,
      results: "1\n",
    });
    expect(shown.get("command_logs")).toContain("reading one file");
    expect(page).not.toMatch(/hgi?_[\w-]{35}/);
  });

  test("says in words who may call an operation, with the code of the permission", async () => {
    expect(await entryOf("cluster_edit")).toContain(
      "Permission: users who may update clusters (cluster:update): members of system-admin, or of a group with a role " +
        "that allows it. A policy of the object decides before that.",
    );
    expect(await entryOf("cluster_state_change")).toContain(
      "Permission: depends on the request. To start clusters (cluster:start): members of system-user or system-admin. " +
        "To terminate clusters (cluster:terminate): members of system-admin. A role can allow any of them.",
    );
    expect(await entryOf("access_explain")).toMatch(
      /To read clusters \(cluster:read\), .*: members of system-user or system-admin\. To set the policies of .* clusters \(cluster:manage\), .*: members of system-admin\./,
    );
    for (const id of ["command_submit", "command_rerun", "cluster_clone"]) {
      expect(await entryOf(id)).toContain("The policy of a cluster that the request uses can refuse it.");
    }
    expect(await entryOf("node_list")).toContain("Permission: operators of the installation; 404 for everyone else.");
    expect(await pageOf(given.base)).not.toContain(escapeHtml('{"groups":'));
  });

  test("shows the fields of a submission by kind of command, with a body that the server accepts", async () => {
    const operator = await given.operator();
    const [, submission = ""] = /<article id="command_submit">([^]*?)<h4>Reply/.exec(await pageOf(given.base)) ?? [];
    const [, ...groups] = submission.split("<h5>");
    expect(groups.map((group) => /^[^<]*/.exec(group)?.[0])).toEqual([
      "Every kind of command",
      "SparkCommand: a program",
      "SparkCommand: a query",
      "SparkCommand: a spark-submit command line",
      "HiveCommand: a query",
      "HiveCommand: a table refresh, which adds new partitions",
      "HadoopCommand: a copy with S3DistCp",
    ]);
    const [common, ...kinds] = groups.map((group) =>
      [...group.matchAll(/<td><code>([\w.[\]]+)<\/code>/g)].map(([, name = ""]) => name),
    );
    expect(common).toContain("label");
    expect(new Set([common, ...kinds].flat())).toEqual(new Set(Object.keys(SubmissionBody.properties)));
    for (const [index, group] of groups.slice(1).entries()) {
      const [, text = ""] = /<pre class="body">\n?([^<]*)<\/pre>/.exec(group) ?? [];
      const body: Record<string, unknown> = JSON.parse(unescaped(text));
      expect([...(common ?? []), ...(kinds[index] ?? [])]).toEqual(expect.arrayContaining(Object.keys(body)));
      const command = await operator.post("/commands", body);
      expect(command).toMatchObject({ status: expect.any(String), command_type: body["command_type"] });
    }
  });

  test("uses the same prefix everywhere, that of the deployment, and so do the guides", async () => {
    const page = await pageOf(renamed.base);
    expect(page).toContain("acme_users");
    const guides = [...page.matchAll(/<li><a href="([^"#]+\.md)"/g)].map(([, href = ""]) => href);
    expect(guides.length).toBeGreaterThan(15);
    const texts = await Promise.all(guides.map(async (href) => (await fetch(href)).text()));
    expect(texts.join()).toContain("enable_acme_user");
    expect(texts.join()).toContain("ACME-QUERY-SCHEMA");
    for (const text of [page, ...texts]) expect(text).not.toMatch(/svc_|SVC-/);
  });

  test("has tables whose words are never broken, in boxes that scroll", async () => {
    const page = await pageOf(given.base);
    expect(page).not.toMatch(/word-break: break|overflow-wrap: anywhere/);
    const tables = page.match(/<table>/g)?.length;
    expect(page.match(/<div class="scroll">\s*<table>/g)?.length).toBe(tables);
  });
});

describe("the address of the server in the reference", () => {
  const pageFor = async (headers: Record<string, string>, proxy: { socketPath?: string } = {}): Promise<string> =>
    (await rawRequest(given.base, { method: "GET", path: "/docs", headers, ...proxy })).text;
  const forwarded = (proto: string): Promise<string> => {
    const headers = { Host: "headgate.example", "X-Forwarded-For": "203.0.113.7", "X-Forwarded-Proto": proto };
    return pageFor(headers, { socketPath: proxySocket });
  };
  const HOSTILE = ["$(reboot)", "a;b", "h`id`", 'x"><script>', "$`", "$'"];

  test("is the one by which the client reached it", async () => {
    expect(await pageFor({ Host: "headgate.example:99" })).toContain("http://headgate.example:99/api/v1.2/commands");
    expect(await forwarded("https")).toContain("https://headgate.example/api/v1.2/commands");
  });

  test.each(HOSTILE)("does not repeat the Host header %j", async (host) => {
    const page = await pageFor({ Host: host });
    expect(page).not.toContain(`//${escapeHtml(host)}`);
    expect(page).toContain(`${given.base}/api/v1.2/commands`);
  });

  test.each([...HOSTILE, "javascript"])("does not repeat the forwarded protocol %j", async (proto) => {
    const page = await forwarded(proto);
    expect(page).not.toContain(`${escapeHtml(proto)}://`);
    expect(page).toContain("http://127.0.0.1:80/api/v1.2/commands");
  });

  test("is never a forwarded host, which a proxy may have from its client", async () => {
    const headers = { Host: "headgate.example", "X-Forwarded-For": "203.0.113.7", "X-Forwarded-Host": "evil.example" };
    const page = await pageFor(headers, { socketPath: proxySocket });
    expect(page).toContain("http://headgate.example/api/v1.2/commands");
    expect(page).not.toContain("evil.example");
  });

  test("is not kept by caches, in the reference and the guides", async () => {
    for (const path of ["/docs", "/docs/commands.md"]) {
      const response = await fetch(`${given.base}${path}`);
      expect(response.headers.get("cache-control"), path).toBe("no-cache");
    }
  });

  test("has the forwarded protocol of trusted proxies only", async () => {
    const page = await pageFor({ Host: "headgate.example", "X-Forwarded-Proto": "https" });
    expect(page).toContain("http://headgate.example/api/v1.2/commands");
    expect(page).not.toContain("https://headgate.example");
  });
});
