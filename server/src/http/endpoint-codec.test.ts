import { Type } from "typebox";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { FastifyInstance } from "fastify";
import { openEndpoint, serverOf } from "../../test/support/echo-server.ts";
import { notFound } from "../lib/fault.ts";
import { Id, OneOf } from "./schema.ts";

/** Clients of the original API are loose with types; handlers get exact ones. */
const Fields = Type.Object({
  count: Type.Optional(Type.Integer({ minimum: 0, maximum: 100 })),
  flag: Type.Optional(Type.Boolean()),
  text: Type.Optional(Type.String({ maxLength: 10 })),
  kind: Type.Optional(OneOf(["a", "b"])),
  list: Type.Optional(Type.Array(Type.Integer(), { maxItems: 3 })),
  inner: Type.Optional(Type.Object({ flag: Type.Boolean() })),
});

const echoBody = openEndpoint({
  id: "echo_body",
  summary: "Echo a body",
  tag: "Echo",
  method: "PUT",
  paths: { "v1.2": "/echo/:id" },
  access: null,
  params: Type.Object({ id: Id }),
  body: Fields,
  reply: Type.Unknown(),
  find: ({ params }) => (params.id === 404 ? Promise.reject(notFound("Thing", 404)) : Promise.resolve(params.id)),
  handle: ({ body }) => Promise.resolve(body),
});

const echoQuery = openEndpoint({
  id: "echo_query",
  summary: "Echo a query",
  tag: "Echo",
  method: "GET",
  paths: { "v1.2": "/echo" },
  access: null,
  query: Fields,
  reply: Type.Unknown(),
  handle: ({ query }) => Promise.resolve(query),
});

let server: FastifyInstance;
beforeAll(async () => {
  server = await serverOf([echoBody, echoQuery]);
});
afterAll(() => server.close());

async function put(body: unknown, id = "1") {
  const payload = typeof body === "string" ? body : JSON.stringify(body);
  const reply = await server.inject({ method: "PUT", url: `/api/v1.2/echo/${id}`, payload });
  return { status: reply.statusCode, body: reply.json() };
}

async function get(query: string, body?: unknown) {
  const payload = body === undefined ? {} : { payload: JSON.stringify(body) };
  const reply = await server.inject({ method: "GET", url: `/api/v1.2/echo${query}`, ...payload });
  return { status: reply.statusCode, body: reply.json() };
}

describe("a body", () => {
  test.each([
    [{ count: 7 }, { count: 7 }],
    [{ count: "7" }, { count: 7 }],
    [{ count: " 07 " }, { count: 7 }],
    [{ count: 7.0 }, { count: 7 }],
    [{ flag: true }, { flag: true }],
    [{ flag: "true" }, { flag: true }],
    [{ flag: "True" }, { flag: true }],
    [{ flag: "FALSE" }, { flag: false }],
    [{ flag: 1 }, { flag: true }],
    [{ flag: "0" }, { flag: false }],
    [{ text: 12 }, { text: "12" }],
    [{ text: "12" }, { text: "12" }],
    [{ text: "" }, { text: "" }],
    [{ list: ["1", 2] }, { list: [1, 2] }],
    [{ inner: { flag: "True", other: 1 } }, { inner: { flag: true } }],
    [{ count: null, flag: null, text: null, kind: null, list: null, inner: null }, {}],
    [{ unknown: 1, toString: 2 }, {}],
    [{}, {}],
  ])("%j is read as %j", async (sent, read) => {
    expect(await put(sent)).toEqual({ status: 200, body: read });
  });

  test.each([
    [{ count: "seven" }, /^count must be an integer/],
    [{ count: "" }, /^count must be an integer/],
    [{ count: 1.5 }, /^count must be an integer/],
    [{ count: true }, /^count must be an integer/],
    [{ count: 101 }, /^count must be at most 100/],
    [{ count: "-1" }, /^count must be at least 0/],
    [{ count: "99999999999999999999" }, /^count is too large/],
    [{ count: [1] }, /^count must be an integer/],
    [{ flag: "yes" }, /^flag must be a boolean/],
    [{ flag: 2 }, /^flag must be a boolean/],
    [{ text: "12345678901" }, /^text must have at most 10 characters/],
    [{ text: true }, /^text must be a string/],
    [{ text: 2 ** 53 }, /^text is too large/],
    [{ text: { a: 1 } }, /^text must be a string/],
    [{ text: "a\u0000" }, /^text must not contain/],
    [{ text: "\ud800" }, /^text must be well-formed/],
    [{ kind: "c" }, /^kind must be one of a, b/],
    [{ list: [1, 2, 3, 4] }, /^list must have at most 3/],
    [{ list: ["x"] }, /^list\[0\] must be an integer/],
    [{ list: [null] }, /^list\[0\] must be an integer/],
    [{ inner: {} }, /^inner.flag is required/],
    [{ inner: [] }, /^inner must be an object/],
  ])("%j is 422 and names the field and the rule", async (sent, message) => {
    const { status, body } = await put(sent);
    expect(status).toBe(422);
    expect(body.error.error_message).toMatch(message);
  });

  test.each([
    ['{"count":1e400}', /^count is too large/],
    ['{"text":1e400}', /^text is too large/],
    ['{"text":12345678901234567890}', /^text is too large/],
  ])("%s contains a number that is too large for a double, and is 422", async (payload, message) => {
    const { status, body } = await put(payload);
    expect(status).toBe(422);
    expect(body.error.error_message).toMatch(message);
  });

  test("is validated after the object: an unknown id is 404 whatever the body contains", async () => {
    expect((await put({ count: "x" }, "404")).status).toBe(404);
    expect((await put({ count: "x" }, "1")).status).toBe(422);
  });
});

describe("an id in a path", () => {
  test.each(["0", "-1", "x", "1.5", "99999999999999999999", "1e3", "%20", "1%00", "0x10", "null"])(
    "%s is invalid and therefore 404",
    async (id) => {
      expect((await put({}, id)).status).toBe(404);
    },
  );
});

describe("a query", () => {
  test.each([
    ["?count=7&flag=True&text=x", { count: 7, flag: true, text: "x" }],
    ["?flag=true", { flag: true }],
    ["?flag=False", { flag: false }],
    ["?count=%207", { count: 7 }],
    ["?text=a+b%2Bc", { text: "a b+c" }],
    ["?other=1&__proto__=2", {}],
    ["?", {}],
    ["", {}],
  ])("%s is read as %j", async (query, read) => {
    expect(await get(query)).toEqual({ status: 200, body: read });
  });

  test.each(["?count=", "?count=x", "?count=1&count=2", "?flag=maybe", "?kind=c", "?text=12345678901", "?text=%00"])(
    "%s is 422",
    async (query) => {
      expect((await get(query)).status).toBe(422);
    },
  );

  test("takes precedence over the body of a GET, which is read as well", async () => {
    expect(await get("?count=1", { count: 2, flag: "True", text: null })).toEqual({
      status: 200,
      body: { count: 1, flag: true },
    });
  });
});
