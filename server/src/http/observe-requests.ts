import type { FastifyInstance } from "fastify";
import { Counter, Histogram, type Registry } from "prom-client";
import type { Log } from "../lib/log.ts";

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

export interface HttpMetrics {
  observe(operation: string, status: number, seconds: number): void;
}

export function httpMetrics(registry: Registry): HttpMetrics {
  const durations = new Histogram({
    name: "headgate_http_request_seconds",
    help: "Time to answer a request, by operation",
    labelNames: ["operation"],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5, 30],
    registers: [registry],
  });
  const answers = new Counter({
    name: "headgate_http_requests_total",
    help: "Requests answered, by operation and status",
    labelNames: ["operation", "status"],
    registers: [registry],
  });
  return {
    observe(operation, status, seconds) {
      durations.observe({ operation }, seconds);
      answers.inc({ operation, status });
    },
  };
}
