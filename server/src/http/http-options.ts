import type { Fault } from "../lib/fault.ts";
import type { Log } from "../lib/log.ts";
import type { BodyLimits } from "./body-budget.ts";
import type { Endpoint } from "./endpoint.ts";
import type { Gate } from "./gate.ts";
import type { HttpMetrics } from "./metrics.ts";
import type { SystemOptions } from "./system-routes.ts";

/** What the server is made of; `app.ts` hands it in. */
export interface HttpOptions<Access, Admission, Admitted, Services> {
  endpoints: readonly Endpoint<Access, Admitted, Services>[];
  services: Services;
  gate: Gate<Access, Admission, Admitted>;
  identifierPrefix: string;
  trustedProxies: readonly string[];
  /** Open connections that are not a trusted proxy's. */
  connections: number;
  bodyLimits: BodyLimits;
  log: Log;
  metrics: HttpMetrics;
  /** A reason why nothing may be written now (the disk is nearly full), or undefined. */
  writesRefused: () => Fault | undefined;
  system: SystemOptions;
}
