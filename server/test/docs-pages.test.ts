import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { createContext, runInContext } from "node:vm";
import { beforeAll, describe, expect, test } from "vitest";
import { headgateOpenApi } from "../src/openapi-document.ts";
import { useSharedServer } from "./support/given.ts";
import { rawRequest } from "./support/raw-request.ts";
import { tourBlocks } from "./support/readme-tour.ts";
import { repositoryDir } from "./support/repository-dir.ts";

const given = useSharedServer();

interface Found {
  readonly entry: { readonly href: string; readonly title: string };
  readonly fields: readonly string[];
}

const get = (path: string): Promise<Response> => fetch(`${given.base}${path}`);

const files = readdirSync(join(repositoryDir, "docs"), { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".md"))
  .map((name) => `/docs/${name}`);
const sourceOf = (path: string): string => readFileSync(join(repositoryDir, path), "utf8");

describe("the guides", () => {
  const pages = new Map<string, string>();

  beforeAll(async () => {
    for (const path of ["/docs", ...files]) {
      const response = await get(path);
      expect(response.status, path).toBe(200);
      pages.set(path, await response.text());
    }
  });

  test("are served as pages at their paths in the repository, under a policy without scripts", async () => {
    const response = await get("/docs/operations/network.md");
    expect(response.headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(response.headers.get("content-security-policy")).toMatch(
      /^default-src 'none'; style-src 'sha256-[\w+/=]+'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; /,
    );
    expect(pages.get("/docs/operations/network.md")).toMatch(/<h1 id="[\w-]+">[^<]+<\/h1>/);
    expect([...pages.values()].filter((page) => page.includes("<table>")).length).toBeGreaterThan(10);
  });

  test("are all linked from the reference if they are for users, and from the chapters that they explain", () => {
    const reference = pages.get("/docs") ?? "";
    const [, listed = ""] = /<h2 id="guides">([^]*?)<\/ul>/.exec(reference) ?? [];
    const [, table = ""] = /^\| For users([^]*?)\n\n/m.exec(sourceOf("/README.md")) ?? [];
    const forUsers = [...table.matchAll(/\]\((docs\/[^)]+)\)/g)].map(([, path = ""]) => `${given.base}/${path}`);
    expect(forUsers.length).toBeGreaterThan(15);
    expect([...listed.matchAll(/href="([^"]+)"/g)].map(([, href]) => href)).toEqual(forUsers);
    const chapters = [...reference.matchAll(/<section id="([\w-]+)">\s*<h2>[^<]*<\/h2>\s*(<p>Guides: .*<\/p>)?/g)];
    expect(chapters).toHaveLength(headgateOpenApi().tags.length);
    for (const [, chapter = "", links] of chapters) expect(links, chapter).toContain(`href="${given.base}/docs/`);
  });

  test("have no comments in shell commands, because zsh passes them on as arguments when they are pasted", () => {
    const comments = ["/README.md", ...files].flatMap((path) =>
      [...sourceOf(path).matchAll(/^```sh\n([^]*?)^```$/gm)]
        .flatMap(([, block = ""]) => block.split("\n"))
        .filter((line) => /(?:^|\s)#(?:\s|$)/.test(line))
        .map((line) => `${path}: ${line}`),
    );
    expect(comments).toEqual([]);
  });

  const isHeading = (path: string, hash: string): boolean =>
    hash === "" || (pages.get(path)?.includes(` id="${hash.slice(1)}"`) ?? false);

  test("link only to pages and headings that exist", () => {
    const missing: string[] = [];
    for (const [path, page] of pages) {
      for (const [, href = ""] of page.matchAll(/<a href="([^"]+)"/g)) {
        const { origin, pathname, hash } = new URL(href, `${given.base}${path}`);
        if (origin !== given.base || pathname === "/openapi.json") continue;
        if (!pages.has(pathname) || !isHeading(pathname, hash)) missing.push(`${path}: ${href}`);
      }
    }
    expect(missing).toEqual([]);
  });

  // A page shows a link to a missing file as text, so these are read from the sources.
  test("link only to files of the repository that exist", () => {
    const missing: string[] = [];
    let checked = 0;
    for (const path of ["/README.md", ...files]) {
      for (const [, target = ""] of sourceOf(path).matchAll(/\]\(([^)\s]+)\)/g)) {
        const { origin, pathname, hash } = new URL(target, `${given.base}${path}`);
        if (origin !== given.base) continue;
        checked += 1;
        const isThere = existsSync(join(repositoryDir, pathname));
        if (!isThere || (pages.has(pathname) && !isHeading(pathname, hash))) missing.push(`${path}: ${target}`);
      }
    }
    expect(missing).toEqual([]);
    expect(checked).toBeGreaterThan(100);
  });

  test.each([
    "/docs/nothing.md",
    "/docs/%2e%2e/package.json",
    "/docs/../package.json",
    "/docs/..%2fREADME.md",
    "/docs/adr",
    "/docs/__proto__",
  ])("are the only files that are served: %s is 404", async (path) => {
    const { status, body } = await rawRequest(given.base, { method: "GET", path }); // fetch would normalise the path
    expect(status).toBe(404);
    expect(body).toMatchObject({ error: { error_code: 404 } });
  });
});

test("the tour of the README has no comments, which zsh would run, and no !, which bash would expand", () => {
  expect(tourBlocks().length).toBeGreaterThan(5);
  for (const block of tourBlocks()) expect(block).not.toMatch(/(^|\s)#|!/m);
});

test.each([
  ['{"id":7}', "7\n", ""],
  ['{"error":{"error_code":401}}', "", '{"error":{"error_code":401}}\n'],
  ["not JSON", "", "not JSON\n"],
])("field, of the tour of the README, takes a field out of %s, or shows that answer", (answer, stdout, stderr) => {
  const [field = ""] = /^field\(\).*$/m.exec(tourBlocks().join("")) ?? [];
  const input = `${field}\nprintf '%s' '${answer}' | field id\n`;
  expect(spawnSync("bash", ["--norc", "-s"], { input, encoding: "utf8" })).toMatchObject({ stdout, stderr });
});

/** Runs the script of the page on the index of the same page, both as the server sends them. */
describe("the search of the reference", () => {
  let findEntries: (query: string) => readonly Found[] = () => [];
  let isPlainKey: (event: Record<string, boolean>) => boolean = () => false;

  beforeAll(async () => {
    const page = await (await fetch(`${given.base}/docs`)).text();
    const [, index = ""] = /<script type="application\/json" id="index">([^]*?)<\/script>/.exec(page) ?? [];
    const [, script = ""] = /<script>([^]*?)<\/script>/.exec(page) ?? [];
    // Without a document, the script only defines its functions.
    const context = createContext({ index: JSON.parse(index), query: "" });
    runInContext(script, context);
    findEntries = (query) => {
      context["query"] = query;
      return JSON.parse(runInContext("JSON.stringify(findEntries(index, query))", context));
    };
    isPlainKey = runInContext("isPlainKey", context);
  });

  const found = (query: string): string[] => findEntries(query).map(({ entry }) => entry.href);
  const operations = (query: string): string[] => found(query).filter((href) => href.startsWith("#"));

  test("finds an operation by its title, its id and any of its paths, the best first", () => {
    expect(found("submit command")[0]).toBe("#command_submit");
    expect(found("reassign label")[0]).toBe("#cluster_label_reassign");
    expect(found("cluster_label_reassign")).toEqual(["#cluster_label_reassign"]);
    expect(operations("/api/v1.2/whitelist_ip")).toEqual([
      "#whitelist_ip_add",
      "#whitelist_ip_list",
      "#whitelist_ip_delete",
    ]);
    expect(operations("/api/v2/accounts/whitelist_ip")).toEqual(operations("/api/v1.2/whitelist_ip"));
    expect(operations("PUT /api/v2/clusters/reassign-label")).toEqual(["#cluster_label_reassign"]);
  });

  test("finds fields of bodies, parameters and replies, and says which", () => {
    const [first] = findEntries("srcPattern");
    expect(first).toMatchObject({ entry: { href: "#command_submit" }, fields: ["srcPattern"] });
    expect(found("wait_seconds")).toEqual(expect.arrayContaining(["#command_view", "#command_status_with_results"]));
    expect(operations("kill_succeeded")).toEqual(["#command_cancel"]);
  });

  test("finds words of descriptions, permissions and guides", () => {
    expect(operations("regular expression group concatenates")).toEqual(["#command_submit"]);
    expect(operations("cluster:manage")).toEqual(["#cluster_access", "#object_policy_set", "#access_explain"]);
    expect(found("may update clusters")).toEqual(expect.arrayContaining(["#cluster_edit"]));
    expect(found("guide policies")[0]).toBe(`${given.base}/docs/policies.md`);
    expect(found("contractor recipes")).toEqual([`${given.base}/docs/policies.md`]);
  });

  test("leaves combinations of keys to the browser, and compositions to the input method", () => {
    expect(isPlainKey({})).toBe(true);
    for (const held of ["ctrlKey", "metaKey", "altKey", "isComposing"])
      expect(isPlainKey({ [held]: true })).toBe(false);
  });

  test("matches beginnings of words, so that it works while a user types", () => {
    for (const typed of ["s", "su", "sub", "subm", "submit c", "submit com", "Submit a command"]) {
      expect(found(typed), typed).toContain("#command_submit");
    }
  });

  test("needs every word of the query", () => {
    expect(found("submit xyzzy")).toEqual([]);
    expect(found("  ")).toEqual([]);
    expect(found("</script> <b> \\ ' \" [(")).toEqual([]);
  });
});
