import { readFileSync } from "node:fs";
import { Agent } from "node:http";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import type { OpenApiDocument } from "../../src/http/openapi/document.ts";
import { checkRequest, type FuzzedOperation, type Stage } from "./check-request.ts";
import { replyChecks } from "./documented-reply.ts";
import type { OperationRules } from "./operation-input.ts";
import { OPERATION_RULES } from "./operation-rules.ts";
import type { Route } from "./plan-request.ts";
import { requestArbitrary, workingRequest } from "./request-arbitrary.ts";
import { World } from "./world.ts";
import { useServer, type Given } from "../support/given.ts";
import { PERMISSION_TABLE } from "../support/permission-table.ts";
import { repositoryDir } from "../support/repository-dir.ts";

const SEED = Number(process.env.FUZZ_SEED ?? Math.trunc(Math.random() * 2 ** 31));
const document: OpenApiDocument = JSON.parse(readFileSync(join(repositoryDir, "api/openapi.json"), "utf8"));
const checks = replyChecks(document);
const routes = new Map(
  Object.entries(document.paths).flatMap(([template, item]) =>
    Object.entries(item).map(([method, { operationId }]): [string, Route] => [
      operationId,
      { method: method.toUpperCase(), template },
    ]),
  ),
);

/**
 * Sends requests with random defects. An oracle derives the required outcome from the request alone: the status by the
 * order of the checks, the usual error form, no secret in a reply, and no change by a refusal or a read. Every run has
 * a new seed. A failure is shrunk to the fewest defects and names the seed that repeats it.
 */
export function fuzzOperations(usualRuns: number): void {
  const runs = Number(process.env.FUZZ_RUNS ?? usualRuns);
  const given = useServer({
    settings: { HEADGATE_RATE_LIMIT: "0", HEADGATE_BAD_TOKEN_LIMIT: "0", HEADGATE_LEASE_SECONDS: "5" },
  });
  const agent = new Agent({ keepAlive: true });
  let stage: Stage;

  beforeAll(async () => {
    const foreign = await World.create(given);
    const operator = await given.operator();
    stage = { given, agent, foreign, operatorToken: operator.token, spare: undefined };
    await waitForRegistration(given);
    // On an active node, submitted commands would start clusters, and worlds would change by themselves.
    await operator.put(`/api/v2/nodes/${await foreign.object("node_id")}`, { state: "paused" });
    await nextHeartbeat(given);
    // oxlint-disable-next-line no-console -- without the seed a failure could not be repeated
    console.info(`openapi-fuzz: to repeat this run, set FUZZ_SEED=${SEED} FUZZ_RUNS=${runs}`);
  });
  afterAll(() => agent.destroy());

  describe("a request with random defects", () => {
    test("is generated for every operation of api/openapi.json", () => {
      const known = new Set(OPERATION_RULES.map(({ operationId }) => operationId));
      expect([...known].toSorted()).toEqual([...routes.keys()].toSorted());
    });

    test.each(OPERATION_RULES.map((rules) => ({ rules, name: [rules.operationId, rules.form].join(" ").trim() })))(
      "to $name gets the reply that the rules require",
      async ({ rules }) => {
        const operation = operationOf(rules);
        await fc.assert(
          fc.asyncProperty(requestArbitrary(rules), (request) => checkRequest(request, operation, stage)),
          { seed: SEED, numRuns: runs, examples: [[workingRequest(rules, SEED)]] },
        );
      },
    );
  });
}

/** A server answers requests before its node has registered. */
async function waitForRegistration(given: Given): Promise<void> {
  const nodes = (): Promise<object[]> => given.app.services.db.system.query("select from node");
  await vi.waitUntil(async () => (await nodes()).length === 1, { timeout: 45_000 });
}

/** The node reads its state with each heartbeat. */
async function nextHeartbeat(given: Given): Promise<void> {
  const { system } = given.app.services.db;
  const [now] = await system.query<{ at: string }>("select now()::text as at");
  const later = (): Promise<object[]> =>
    system.query("select from node where heartbeat_at > $1::timestamptz", [now?.at]);
  await vi.waitUntil(async () => (await later()).length === 1, { timeout: 45_000 });
}

function operationOf(rules: OperationRules): FuzzedOperation {
  const { operationId } = rules;
  const route = routes.get(operationId);
  // The versions of an operation share a row of the table.
  const permission = PERMISSION_TABLE.get(operationId) ?? PERMISSION_TABLE.get(operationId.replace(/_v1(_2)?$/, ""));
  const isDocumented = checks.get(operationId);
  if (route === undefined || permission === undefined || isDocumented === undefined) {
    throw new Error(`${operationId} lacks a route, a row of the permission table or a documented reply`);
  }
  return { rules, route, permission, isDocumented };
}
