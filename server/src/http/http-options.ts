import type { Fault } from "../lib/fault.ts";
import type { Log } from "../lib/log.ts";
import type { BodyLimits } from "./body-budget.ts";
import type { Endpoint } from "./endpoint.ts";
import type { Gate } from "./gate.ts";
import type { HttpMetrics } from "./metrics.ts";
import type { SystemOptions } from "./system-routes.ts";

/** The dependencies of the HTTP server, passed in by `app.ts`. */
export interface HttpOptions<Access, Admission, Admitted, Services> {
  endpoints: readonly Endpoint<Access, Admitted, Services>[];
  services: Services;
  gate: Gate<Access, Admission, Admitted>;
  identifierPrefix: string;
  trustedProxies: readonly string[];
  /** The maximum number of open connections, not counting those of trusted proxies. */
  connections: number;
  bodyLimits: BodyLimits;
  log: Log;
  metrics: HttpMetrics;
  /** Why writes are refused now (the disk is nearly full), or undefined. */
  writesRefused: () => Fault | undefined;
  system: SystemOptions;
}
