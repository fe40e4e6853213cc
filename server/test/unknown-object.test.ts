/**
 * Generated from the endpoints' data: the object in the path is searched for before the rest of the request is checked.
 */
import { describe, expect, test } from "vitest";
import { endpoints } from "../src/routes.ts";
import { useSharedServer, type AccountClient } from "./support/given.ts";
import { sendAs } from "./support/raw-request.ts";
import { filledPath, pathParameters } from "./support/sample-input.ts";

const given = useSharedServer();

const UNKNOWN = "987654321";
const NAMED = /"[A-Z][a-z ]+ [\w.-]*987654321 does not exist\."/;

/** Existing objects of the caller, so that only one of several path parameters is unknown. */
async function known(account: AccountClient): Promise<Record<string, string>> {
  const { id } = await account.get("/groups/system-user");
  return { group_id: String(id), role_id: "system-user", users: account.email };
}

/** A file is not searched for, but opened at once: a request more to the store would be too many. */
const OPENED: ReadonlySet<string> = new Set(["file_upload", "file_download", "file_delete"]);

const references = endpoints
  .filter(({ id }) => !OPENED.has(id))
  .flatMap((endpoint) => pathParameters(endpoint).map((name) => ({ id: endpoint.id, name, endpoint })));

describe("an unknown object is 404 whatever the body is", () => {
  test.each(references)("$id, $name", async ({ name, endpoint }) => {
    const account = await given.operator();
    const others = Object.fromEntries(pathParameters(endpoint).map((each) => [each, UNKNOWN]));
    const params = { ...others, ...(await known(account)), [name]: UNKNOWN };
    const path = filledPath(endpoint, params);
    for (const body of ["[]", '"text"', '{"page":"x","wait_seconds":"x"}']) {
      const { status, text } = await sendAs(given.base, account, { method: endpoint.method, path, body });
      expect([status, text], `${endpoint.method} ${path} ${body}`).toEqual([404, expect.stringMatching(NAMED)]);
    }
  });
});

describe("the refusal of an unknown object names its kind and what the request calls it", () => {
  test.each([
    ["GET", "/commands/99", undefined, "Command 99 does not exist."],
    ["GET", "/commands/first", undefined, "Command first does not exist."],
    ["GET", "/clusters/nightly", undefined, "Cluster nightly does not exist."],
    ["GET", "/clusters/99%1b%5B31m%E2%80%AE", undefined, "Cluster 99[31m does not exist."],
    ["GET", `/clusters/${"x".repeat(250)}`, undefined, `Cluster ${"x".repeat(200)}… does not exist.`],
    ["GET", "/notebooks/note", undefined, "Notebook note does not exist."],
    ["GET", "/notebook_dashboards/99999999999999999999", undefined, "Dashboard 99999999999999999999 does not exist."],
    ["GET", "/hive/sales", undefined, "Schema sales does not exist."],
    ["GET", "/hive/sales/orders", undefined, "Table sales.orders does not exist."],
    ["PUT", "/groups/987/roles/system-user/assign", {}, "Group 987 does not exist."],
    ["DELETE", "/whitelist_ip/987,988", undefined, "Whitelist entry 987 does not exist."],
    ["DELETE", "/whitelist_ip/%00", undefined, 'Whitelist entry "" does not exist.'],
    ["POST", "/accounts/enable_svc_user", { svc_user_id: "no@example.test" }, "User no@example.test does not exist."],
    ["PUT", "/folders/rename", { folder_id: 987, name: "x", type: "notes" }, "Folder 987 does not exist."],
    [
      "PUT",
      "/object_policy/policy",
      { source_type: "environment", source_id: "987", policy: "[]" },
      "Environment 987 does not exist.",
    ],
    [
      "PUT",
      "/object_policy/policy",
      { source_type: "cluster", source_id: "987", policy: "[]" },
      "Cluster 987 does not exist.",
    ],
  ])("%s %s", async (method, path, body, message) => {
    const account = await given.operator();
    const { body: reply } = await account.call(method, path, body).reply();
    expect(reply).toEqual({ error: { error_code: 404, error_message: message } });
  });

  test("a folder of the other tree", async () => {
    const account = await given.account();
    await account.post("/folders", { name: "reports", location: "Common", type: "notes" });
    await account
      .get("/folders?location=Common/reports&type=notebook_dashboards")
      .refused(404, /^Folder Common\/reports does not exist in the tree of dashboards \(type notebook_dashboards\);/);
    await account
      .post("/notebooks", { name: "x", location: "Common/report" })
      .refused(404, /^Folder Common\/report does not exist in the tree of notebooks \(type notes\);/);
  });
});

describe("the refusal of an unknown path", () => {
  test("names the method and the path, without its query", async () => {
    const { text } = await given.anonymous().get("/api/v2/comands?secret=hunter2").reply();
    expect(text).toContain('"There is no operation GET /api/v2/comands. /docs lists the operations."');
  });

  test.each(["/api/v1.3/comands", "/api/v2/comands.json/", `/api/v2/${"x".repeat(200)}`])(
    "shows at most 200 characters of the path as it was sent: %.25s",
    async (path) => {
      const { body } = await given.anonymous().get(path).reply();
      const shown = path.length > 200 ? `${path.slice(0, 200)}…` : path;
      const message = `There is no operation GET ${shown}. /docs lists the operations.`;
      expect(body).toEqual({ error: { error_code: 404, error_message: message } });
    },
  );

  test.each(["/api/v2/nodes", "/api/v1.3/nodes.json?x=y"])(
    "is the same for an operator's operation, for callers who are no operators: %s",
    async (path) => {
      const account = await given.account();
      const { text } = await account.get(path).reply();
      const unknown = await account.get(path.replace("nodes", "knots")).reply();
      expect(text).toBe(unknown.text.replace("knots", "nodes"));
    },
  );
});
