import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { useServer } from "../../test/support/given.ts";
import { rawSocket } from "../../test/support/raw-request.ts";
import { repositoryDir } from "../../test/support/repository-dir.ts";
import { guidePages } from "./guide-page.ts";
import { readGuides } from "./guides.ts";
import { checkParts } from "./system-routes.ts";
import { escapeHtml, html } from "./html.ts";
import { referencePage } from "./reference-page.ts";
import { headgateOpenApi } from "../openapi-document.ts";

const given = useServer();

const get = (path: string, init?: RequestInit): Promise<Response> => fetch(`${given.base}${path}`, init);

describe("the server's own pages", () => {
  test("/healthz is 200 while the process is up", async () => {
    const response = await get("/healthz");
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({ status: "ok" });
  });

  test("and every other response forbid browsers to guess the type", async () => {
    for (const path of [
      "/healthz",
      "/metrics",
      "/docs",
      "/api/v2/openapi.json",
      "/nothing",
      "/api/v1.2/account",
      "/%",
    ]) {
      expect((await get(path)).headers.get("x-content-type-options"), path).toBe("nosniff");
    }
    const account = await given.account();
    const { id } = await account.post("/notebooks", { name: "n", location: "Common" });
    const exported = await account.get(`/notebooks/${id}/export`).reply();
    expect([exported.status, exported.headers.get("x-content-type-options")]).toEqual([200, "nosniff"]);
    const broken = await rawSocket(given.base, "GARBAGE\r\n\r\n");
    expect([broken.status, broken.headers.get("x-content-type-options")]).toEqual([400, "nosniff"]);
  });

  test("/readyz shows the state of each part", async () => {
    const partStates = async (): Promise<unknown> => {
      const response = await get("/readyz");
      return [response.status, await response.json()];
    };
    // A part has two seconds to answer.
    await expect.poll(partStates).toEqual([
      200,
      {
        status: "ok",
        parts: {
          store: { ok: true, detail: "answers" },
          migrations: { ok: true, detail: expect.stringMatching(/^(\d+) of \1 applied$/) },
          disk: { ok: true, detail: expect.stringMatching(/^\d+ % free$/) },
        },
      },
    ]);
  });

  test("/metrics counts requests by operation and shows the connections", async () => {
    const account = await given.account();
    await account.get("/whitelist_ip");
    const response = await get("/metrics");
    expect(response.headers.get("content-type")).toMatch(/^text\/plain; version=/);
    const text = await response.text();
    expect(text).toMatch(/^headgate_http_requests_total\{operation="whitelist_ip_list",status="200"\} 1$/m);
    expect(text).toMatch(/^headgate_db_connections\{state="idle"\} \d+$/m);
    expect(text).toMatch(/^headgate_db_waiting 0$/m);
    expect(text).toMatch(/^headgate_db_round_trips_total \d+$/m);
    expect(text).toMatch(/^process_cpu_seconds_total/m);
  });

  test("/openapi.json is the document of this server", async () => {
    const response = await get("/openapi.json");
    expect(response.headers.get("content-type")).toMatch(/^application\/json/);
    expect(await response.json()).toEqual(JSON.parse(JSON.stringify(headgateOpenApi())));
  });

  test("/docs is one page without external resources, and its policy allows only its own style and script", async () => {
    const response = await get("/docs");
    expect(response.headers.get("content-type")).toBe("text/html; charset=utf-8");
    const page = await response.text();
    const [, style = ""] = /<style>([^]*?)<\/style>/.exec(page) ?? [];
    const [, script = ""] = /<script>([^]*?)<\/script>/.exec(page) ?? [];
    const sha256 = (text: string): string => createHash("sha256").update(text).digest("base64");
    expect(response.headers.get("content-security-policy")).toBe(
      `default-src 'none'; script-src 'sha256-${sha256(script)}'; style-src 'sha256-${sha256(style)}'; base-uri 'none'; ` +
        "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
    );
    expect(page.match(/<script[^>]*>/g)).toEqual(['<script type="application/json" id="index">', "<script>"]);
    expect(page).not.toMatch(/<img|<link|@import|url\(|src=/i);
    const links = [...page.matchAll(/href="([^"]*)"/g)];
    expect(links.length).toBeGreaterThan(100);
    for (const [, href = ""] of links) {
      expect(href.startsWith("#") || href.startsWith(`${given.base}/`), href).toBe(true);
    }
    expect(script).not.toMatch(/fetch|XMLHttpRequest|import\(|innerHTML|eval/);
    for (const { operationId } of Object.values(headgateOpenApi().paths).flatMap((item) => Object.values(item))) {
      expect(page).toContain(` id="${operationId}"`);
    }
  });

  test.each(["/healthz", "/readyz", "/metrics", "/openapi.json", "/docs", "/docs/commands.md"])(
    "%s answers HEAD, and 405 to other methods",
    async (path) => {
      const head = await get(path, { method: "HEAD" });
      expect(head.status).toBe(200);
      expect(head.headers.get("x-request-id")).toBeTruthy();
      expect(await head.text()).toBe("");
      for (const method of ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "PROPFIND"]) {
        const refused = await get(path, { method });
        expect(refused.status, method).toBe(405);
        expect(refused.headers.get("allow")).toBe("GET, HEAD");
        expect(await refused.json()).toEqual({ error: { error_code: 405, error_message: expect.any(String) } });
      }
    },
  );
});

describe("GET /", () => {
  test("redirects a browser to the reference", async () => {
    const accept = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
    const response = await get("/", { headers: { accept }, redirect: "manual" });
    expect(response.status).toBe(302);
    expect(response.headers.get("location")).toBe("/docs");
    expect(response.headers.get("vary")).toBe("Accept");
    const followed = await get("/", { headers: { accept } });
    expect(followed.headers.get("content-type")).toBe("text/html; charset=utf-8");
  });

  test.each(["*/*", "application/json", "text/html;q=0, application/json"])(
    "is an unknown path to a client that accepts %s",
    async (accept) => {
      const response = await get("/", { headers: { accept } });
      expect(response.status).toBe(404);
      const unknown = await get("/no-such-path", { headers: { accept } });
      expect(await response.text()).toBe((await unknown.text()).replace("/no-such-path", "/"));
    },
  );
});

describe("readiness", () => {
  test("a part that fails or does not answer in time is not ready, and the others are still reported", async () => {
    const parts = await checkParts(
      {
        good: () => Promise.resolve({ ok: true, detail: "here" }),
        broken: () => Promise.reject(new Error("password of db1.internal is wrong")),
        silent: () => new Promise(() => undefined),
      },
      20,
    );
    expect(parts).toEqual({
      good: { ok: true, detail: "here" },
      broken: { ok: false, detail: "not reachable" },
      silent: { ok: false, detail: "no answer in 20 ms" },
    });
  });
});

describe("the reference page", () => {
  test("escapes all text of the definitions", () => {
    const evil = `</title><script>alert("1")</script>&'$\``;
    const document = headgateOpenApi();
    const [path = ""] = Object.keys(document.paths);
    const item = document.paths[path] ?? {};
    for (const operation of Object.values(item))
      Object.assign(operation, { summary: evil, description: evil, "x-also-at": [evil] });
    const page = referencePage(
      { ...document, info: { title: evil, version: evil, description: `${evil}\n\n\`\`\`sh\n${evil}\n\`\`\`` } },
      { readingOrder: [], identifierPrefix: "svc", guides: readGuides(repositoryDir) },
    )
      .htmlFor(`http://${evil}`)
      .toString();
    expect(page.match(/<script[^>]*>/g)).toEqual(['<script type="application/json" id="index">', "<script>"]);
    expect(page.match(/<\/script>/g)).toHaveLength(2);
    expect(page).toContain(escapeHtml(evil));
    expect(page).toContain(`${escapeHtml(`"http://${evil}`)}/api/`);
  });

  test("is filled in once for requests of the same address, and guides are rendered once", () => {
    const guides = readGuides(repositoryDir);
    const options = { readingOrder: [], identifierPrefix: "svc", guides };
    const { htmlFor } = referencePage(headgateOpenApi(), options);
    expect(htmlFor("http://one")).toBe(htmlFor("http://one"));
    expect(htmlFor("http://two").toString()).toBe(
      htmlFor("http://one").toString().replaceAll("http://one", "http://two"),
    );
    const guidePage = guidePages(() => true, "svc");
    for (const guide of guides.forUsers()) expect(guidePage(guide)).toBe(guidePage(guide));
  });

  test("does not escape HTML twice", () => {
    expect(html`<p>${[html`<b>${"<"}</b>`, undefined, 1]}</p>`.text).toBe("<p><b>&#60;</b>1</p>");
  });
});
