import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Validator } from "@seriousme/openapi-schema-validator";
import { describe, expect, test } from "vitest";
import { headgateOpenApi, openApiText } from "../src/openapi-document.ts";
import { routeTable } from "../src/http/route-table.ts";
import { endpoints } from "../src/routes.ts";
import type { Response } from "../src/http/openapi/document.ts";
import { replyChecks } from "./fuzz/documented-reply.ts";
import { repositoryDir } from "./support/repository-dir.ts";

const document = headgateOpenApi();
const operations = Object.entries(document.paths).flatMap(([path, item]) =>
  Object.entries(item).map(([method, operation]) => ({ path, method, operation })),
);

describe("the OpenAPI document", () => {
  test("is the committed api/openapi.json (npm run generate writes it)", () => {
    expect(openApiText()).toBe(readFileSync(join(repositoryDir, "api/openapi.json"), "utf8"));
  });

  test("is valid by the official schema of OpenAPI 3.1", async () => {
    const result = await new Validator().validate(JSON.parse(openApiText()));
    expect(result.errors ?? []).toEqual([]);
    expect(result.valid).toBe(true);
  });

  test("gives every operation a summary, a tag and a permission", () => {
    for (const { path, method, operation } of operations) {
      const name = `${method} ${path}`;
      expect(operation.summary, name).toMatch(/^[A-Z].{5,}[^.]$/);
      expect(operation.tags, name).toHaveLength(1);
      expect(operation["x-permission"], name).toBeDefined();
    }
  });

  test("has an example answer for every operation that its schema accepts and that is not empty", () => {
    const checks = replyChecks(document);
    for (const { operation } of operations) {
      const { operationId, responses } = operation;
      const content = Object.entries((responses["200"] as Response).content ?? {});
      const [type = "", { example } = {}] = content.find(([, media]) => media.example !== undefined) ?? [];
      expect(example, `${operationId}: run npm run generate:answers`).toBeDefined();
      expect(example, operationId).not.toEqual([]);
      const headers = new Headers({ "content-type": type });
      const isDocumented = checks.get(operationId)?.({ status: 200, headers, body: example, text: String(example) });
      expect(isDocumented, `${operationId}: ${JSON.stringify(example)}`).toBe(true);
    }
  });

  test("describes followed logs as a stream of events", () => {
    const logs = operations.filter(({ path }) => path.endsWith("/logs"));
    expect(logs.length).toBeGreaterThan(0);
    for (const { operation } of logs) {
      expect(operation.responses["200"]).toMatchObject({
        content: {
          "text/event-stream": {
            example: expect.stringMatching(/^event: err\nid: \d+,\d+\ndata: .*event: end\ndata: done\n\n$/s),
            "x-item-schema": {
              oneOf: ["err", "tmp", "end"].map((event) => ({ properties: { event: { const: event } } })),
            },
          },
        },
      });
    }
  });

  test("names every operation once", () => {
    const ids = operations.map(({ operation }) => operation.operationId);
    expect(ids).toEqual([...new Set(ids)]);
  });

  test("contains exactly the routed endpoints, at every path of every version", () => {
    const documented = new Set(operations.map(({ path, method }) => `${method.toUpperCase()} ${shape(path)}`));
    const routed = new Set(routeTable(endpoints).map(({ method, url }) => `${method} ${shape(url)}`));
    for (const call of documented) expect(routed).toContain(call);
    for (const { method, paths } of endpoints) {
      for (const [version, path] of Object.entries(paths)) {
        expect(documented).toContain(`${method} ${shape(`/api/${version}${path}`)}`);
      }
    }
  });

  test("shows every version in which an operation has a form of its own", () => {
    const formed = endpoints.filter(({ forms }) => forms !== undefined);
    expect(formed.length).toBeGreaterThan(5);
    for (const { id, paths, forms = {} } of formed)
      expect(Object.keys(paths), id).toEqual(expect.arrayContaining(Object.keys(forms)));
    expect(document.paths["/api/v1.2/clusters"]?.get?.responses["200"]).toMatchObject({
      content: { "application/json": { schema: { type: "array", items: { required: ["cluster"] } } } },
    });
    expect(document.paths["/api/v2/clusters"]?.get?.responses["200"]).toMatchObject({
      content: { "application/json": { schema: { required: ["paging_info", "clusters"] } } },
    });
  });

  test("marks operations that a newer version replaces as deprecated", () => {
    expect(document.paths["/api/v1.2/whitelist_ip"]?.post?.deprecated).toBe(true);
    expect(document.paths["/api/v2/accounts/whitelist_ip"]?.post?.deprecated).toBeUndefined();
  });

  test("requires a token for exactly the operations that need one", () => {
    for (const { operation } of operations) {
      expect(operation.security).toEqual(operation["x-permission"] === "public" ? [] : undefined);
    }
  });
});

function shape(path: string): string {
  return path.replaceAll(/:\w+|\{\w+\}/g, ":");
}
