import { Counter, Histogram, type Registry } from "prom-client";

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
