import type { FastifyInstance } from "fastify";
import type { Log } from "../lib/log.ts";
import type { HttpMetrics } from "./metrics.ts";

/** Logs and measures every request. Bodies, headers and queries may contain secrets and are not logged. */
export function observeRequests(server: FastifyInstance, log: Log, metrics: HttpMetrics): void {
  server.addHook("onResponse", (request, reply, done) => {
    const { operation = "none", caller = () => ({}) } = request.routeOptions.config;
    const milliseconds = Math.round(reply.elapsedTime * 10) / 10;
    metrics.observe(operation, reply.statusCode, reply.elapsedTime / 1000);
    const callerFields = request.admission === null ? {} : caller(request.admission);
    log.info({
      requestId: request.id,
      operation,
      method: request.method,
      path: pathOf(request.originalUrl),
      status: reply.statusCode,
      milliseconds,
      address: request.ip,
      ...callerFields,
    });
    done();
  });
}

const MAX_PATH_LENGTH = 500;

function pathOf(url: string): string {
  const [path = ""] = url.split("?", 1);
  return path.slice(0, MAX_PATH_LENGTH);
}
