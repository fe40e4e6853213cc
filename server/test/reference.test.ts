import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { get, type IncomingMessage } from "node:http";
import { text } from "node:stream/consumers";
import { beforeAll, describe, expect, test } from "vitest";
import { escapeHtml } from "../src/http/html.ts";
import { endpoints } from "../src/routes.ts";
import { useServer, type AccountClient } from "./support/given.ts";
import { runProgram } from "./support/programs.ts";
import { stubDriver } from "./support/stub-driver.ts";

/**
 * Runs the curl lines of the reference as they stand. A shell expands them; a shell function that only prints its
 * arguments replaces `curl`, so that curl need not be installed.
 */
const given = useServer({ driver: stubDriver });
const renamed = useServer({ settings: { HEADGATE_IDENTIFIER_PREFIX: "acme" } });

interface CurlLine {
  readonly id: string;
  readonly line: string;
}

async function pageOf(base: string): Promise<string> {
  return (await fetch(`${base}/docs`)).text();
}

async function curlLines(base: string): Promise<CurlLine[]> {
  const articles = (await pageOf(base)).matchAll(/<article id="(\w+)">([^]*?)<\/article>/g);
  return [...articles].map(([, id = "", text = ""]) => {
    const lines = [...text.matchAll(/<pre>([^<]*)<\/pre>/g)].map(([, line = ""]) => unescaped(line));
    expect(lines, id).toHaveLength(1);
    return { id, line: lines[0] ?? "" };
  });
}

function unescaped(text: string): string {
  return text.replaceAll(/&#(\d+);/g, (_, code: string) => String.fromCharCode(Number(code)));
}

/** The arguments that the shell would pass to curl. */
function argumentsOf(line: string, variables: Record<string, string>): string[] {
  const script = `curl() { for each in "$@"; do printf '%s\\0' "$each"; done; }\n${line}`;
  return execFileSync("/bin/sh", ["-eu", "-c", script], { env: variables, encoding: "utf8" }).split("\0").slice(0, -1);
}

interface Answer {
  readonly status: number;
  readonly text: string;
}

async function run(line: string, variables: Record<string, string>): Promise<Answer> {
  let method = "GET";
  let url = "";
  let body: string | undefined;
  const headers: Record<string, string> = {};
  const words = argumentsOf(line, variables);
  for (let at = 0; at < words.length; at += 1) {
    const next = (): string => words[(at += 1)] ?? "";
    switch (words[at]) {
      case "-X":
        method = next();
        break;
      case "-d":
        body = next();
        break;
      case "-H": {
        const [name = "", value = ""] = next().split(": ");
        headers[name] = value;
        break;
      }
      default:
        url = words[at] ?? "";
    }
  }
  const response = await fetch(url, { method, headers, ...(body === undefined ? {} : { body }) });
  return { status: response.status, text: await response.text() };
}

/** The values that a reader would fill in because the page cannot know them. */
async function readersValues(operator: AccountClient) {
  const finished = await runProgram(operator, "echo 1");
  const app = await operator.post("/api/v2/apps", { name: "one" });
  const { group } = await operator.post("/groups", { name: "one" });
  const { roles: role } = await operator.post("/roles", { name: "one" });
  const cluster = await operator.post("/api/v2/clusters", { labels: ["one"], engine: { type: "local" } });
  const { folder } = await operator.post("/folders", { name: "one", location: "Common", type: "notes" });
  const note = await operator.post("/notebooks", { name: "one" });
  const dashboard = await operator.post("/notebook_dashboards", { note_id: note.id, name: "one" });
  await operator.post("/whitelist_ip", { ip_cidr: "198.51.100.1" });
  await operator.post("/whitelist_ip", { ip_cidr: "198.51.100.2" });
  const { account_whitelisted_ips: addresses } = await operator.get("/whitelist_ip");
  const ids = (addresses as { id: number }[]).map(({ id }) => String(id));
  const member = await given.member(operator);
  const { invitation_code: code } = await operator.post("/users/invite_new", { invitee_email: "eve@example.test" });
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
  file_sensor_create: [422, /no storage keys/],
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
      answers.set(id, await run(filled, { ...variables, IDS: line.includes("$IDS") ? (ids.pop() ?? "") : "" }));
    }
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
    const lines = [...intro.matchAll(/<pre>([^<]*)<\/pre>/g)].map(([, line = ""]) => unescaped(line));
    expect(lines).toHaveLength(3);
    const [, submit = "", read = ""] = lines;
    const [, call = "", rest = ""] = /^COMMAND_ID=\$\((curl .*?') (\| sed .*)\)$/.exec(submit) ?? [];
    const submitted = await run(call, { TOKEN: operator.token ?? "" });
    expect(submitted.status, call).toBe(200);
    const id = execFileSync("/bin/sh", ["-c", `cat ${rest}`], { input: submitted.text, encoding: "utf8" }).trim();
    expect(id).toBe(String(JSON.parse(submitted.text).id));
    const answer = await run(read.replace("wait_seconds=60", "wait_seconds=0"), {
      TOKEN: operator.token ?? "",
      COMMAND_ID: id,
    });
    expect(answer.status, answer.text).toBe(200);
  });

  test("does not repeat a Host header with characters that have a meaning in a shell or in HTML", async () => {
    const { hostname, port } = new URL(given.base);
    const askAs = async (host: string): Promise<string> => {
      const [response] = (await once(get({ hostname, port, path: "/docs", headers: { host } }), "response")) as [
        IncomingMessage,
      ];
      return text(response);
    };
    expect(await askAs("headgate.example:99")).toContain("http://headgate.example:99/api/v1.2/commands");
    for (const host of ["$(reboot)", "a;b", "h`id`", 'x"><script>']) {
      const page = await askAs(host);
      expect(page).not.toContain(escapeHtml(host));
      expect(page).toContain(`${given.base}/api/v1.2/commands`);
    }
  });

  test("has tables whose words are never broken, in boxes that scroll", async () => {
    const page = await pageOf(given.base);
    expect(page).not.toMatch(/word-break: break|overflow-wrap: anywhere/);
    const tables = page.match(/<table>/g)?.length;
    expect(page.match(/<div class="scroll">\s*<table>/g)?.length).toBe(tables);
  });
});
