import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { FastifyInstance } from "fastify";
import { accessGate, type Admission } from "../access/gate.ts";
import type { Admitted, OperationAccess } from "../access/operation.ts";
import type { Queue } from "../commands/queue/open-queue.ts";
import type { NodeParts } from "./node.ts";
import type { Services } from "./services.ts";
import type { Sparks } from "./sparks.ts";
import type { Config } from "../config.ts";
import { migrationState } from "../db/migrate.ts";
import { SYSTEM_FOLDERS } from "../processes/sandbox/bubblewrap-arguments.ts";
import type { PythonSetUp } from "../engines/spark-home/python-set-up.ts";
import type { SparkSetUp } from "../engines/spark-home/spark-set-up.ts";
import { readGuides } from "../http/guides.ts";
import { isNodeProof, nodeProof } from "../http/node-proof.ts";
import { httpMetrics } from "../http/observe-requests.ts";
import { readProxySecret } from "../http/proxy-secret.ts";
import type { ProxySocket } from "../http/proxy-socket.ts";
import type { ReadinessParts } from "../http/system-routes.ts";
import { buildServer } from "../http/server.ts";
import { bytesPerMiB } from "../lib/size-text.ts";
import { headgateOpenApi } from "../openapi-document.ts";
import { endpoints } from "../routes.ts";

const repositoryDir = fileURLToPath(new URL("../../..", import.meta.url));

/** The HTTP server with every operation; it does not listen yet. */
export function composeServer(
  { config, denials, keys, log, registry, diskGuard }: NodeParts,
  services: Services,
  readiness: ReadinessParts,
): Promise<FastifyInstance> {
  const { accountBodiesMiB, nodeBodiesMiB } = config;
  return buildServer<OperationAccess, Admission, Admitted, Services>({
    endpoints,
    services,
    gate: accessGate({ ...services, denials, log }),
    log,
    identifierPrefix: config.identifierPrefix,
    proxies: {
      networks: config.trustedProxies,
      secret: readProxySecret(config.proxySecretFile),
      isNodeProof: (proof, headers) => isNodeProof(keys, proof, headers),
    },
    nodeProof: (headers) => nodeProof(keys, headers),
    connections: config.connections,
    bodyLimits: { accountBytes: accountBodiesMiB * bytesPerMiB, nodeBytes: nodeBodiesMiB * bytesPerMiB },
    metrics: httpMetrics(registry),
    writesRefused: () => diskGuard.refusal(),
    system: {
      registry,
      openApi: headgateOpenApi,
      readingOrder: endpoints.map(({ id }) => id),
      guides: readGuides(repositoryDir),
      readiness,
    },
  });
}

/** The Unix socket for a proxy, if there is one, and what users' programs see of this machine (`processes/sandbox`). */
export function proxySocketOf(config: Config): ProxySocket | undefined {
  const { proxySocket: path, cacheDir, dataDir, sparkHome, javaHome, hadoopConfs } = config;
  if (path === null) return undefined;
  const ours = [cacheDir, join(dataDir, "accounts"), sparkHome, javaHome, ...hadoopConfs.values()];
  return { path, shownFolders: [...SYSTEM_FOLDERS, ...ours.filter((folder) => folder !== null)] };
}

/** `storeHealthy` returns whether the embedded PostgreSQL is up, where there is one. */
export function readinessParts(
  { db, diskGuard }: NodeParts,
  { setUp, python }: Pick<Sparks, "setUp" | "python">,
  queue: Pick<Queue, "hasHeartbeat">,
  storeHealthy: () => boolean = () => true,
): ReadinessParts {
  return {
    ...(setUp === undefined ? {} : sparkReadiness(setUp)),
    // Programs run without the packages, so a node is ready without them.
    ...(python === undefined ? {} : { python: () => Promise.resolve({ ok: true, detail: describe(python) }) }),
    async store() {
      if (!storeHealthy()) return { ok: false, detail: "the embedded PostgreSQL is down" };
      await db.system.query("select 1");
      // A read-only or full PostgreSQL still answers queries.
      return queue.hasHeartbeat()
        ? { ok: true, detail: "answers" }
        : { ok: false, detail: "the last heartbeat could not be written" };
    },
    async migrations() {
      const { applied, known } = await migrationState(db.system);
      return { ok: applied === known, detail: `${applied} of ${known} applied` };
    },
    disk: () =>
      Promise.resolve({
        ok: diskGuard.refusal() === undefined,
        detail: `${Math.floor(diskGuard.freePercent())} % free`,
      }),
  };
}

/** A set-up in progress does not make the node unready: commands wait for it and say so. */
function sparkReadiness(setUp: SparkSetUp): ReadinessParts {
  return {
    spark: () => {
      const { state, detail } = setUp.current();
      return Promise.resolve({ ok: state !== "failed", detail });
    },
  };
}

function describe(python: PythonSetUp): string {
  const { state, detail } = python.current();
  return `${state}: ${detail}`;
}
