import { pino } from "pino";
import { Registry } from "prom-client";
import type { FastifyInstance } from "fastify";
import { endpointFor, type Endpoint } from "../../src/http/endpoint.ts";
import { readGuides } from "../../src/http/guides.ts";
import { httpMetrics } from "../../src/http/observe-requests.ts";
import { buildServer } from "../../src/http/server.ts";
import { openApiDocument } from "../../src/http/openapi.ts";
import type { Log } from "../../src/lib/log.ts";
import { repositoryDir } from "./repository-dir.ts";

const MIB = 1024 * 1024;

type Nothing = Record<string, never>;

/** The HTTP layer alone, with endpoints of the test and a gate that allows every request. */
export const openEndpoint = endpointFor<null, Nothing>();

export async function serverOf(
  endpoints: readonly Endpoint<null, Nothing, null>[],
  log: Log = pino({ level: "silent" }),
): Promise<FastifyInstance> {
  const registry = new Registry();
  return buildServer({
    endpoints,
    services: null,
    gate: {
      admit: () => Promise.resolve(null),
      renew: () => Promise.resolve(null),
      enter: () => ({}),
      checksPolicies: () => false,
      authorise: async () => undefined,
      bodyTerms: () => ({ limitBytes: MIB, owner: "all" }),
      replay: () => Promise.resolve(undefined),
      owners: () => [],
      describe: () => ({}),
    },
    identifierPrefix: "svc",
    proxies: { networks: [], secret: null, isNodeProof: () => false },
    nodeProof: () => "",
    connections: 1000,
    bodyLimits: { accountBytes: 64 * MIB, nodeBytes: 64 * MIB },
    log,
    metrics: httpMetrics(registry),
    writesRefused: () => undefined,
    system: {
      registry,
      readiness: {},
      readingOrder: [],
      guides: readGuides(repositoryDir),
      openApi: () =>
        openApiDocument(endpoints, {
          title: "Test",
          version: "0",
          description: "",
          describeAccess: () => ({ permission: "public", text: "", needsToken: false, isHidden: false }),
          guides: {},
          answers: {},
        }),
    },
  });
}
