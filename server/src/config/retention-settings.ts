import { integer, sizeMiB } from "./parse-value.ts";
import { fixed } from "./setting.ts";

/** Settings that say how long data is kept. */
export const retentionSettings = {
  retainAuditDays: fixed({
    name: "HEADGATE_RETAIN_AUDIT",
    description: "Days for which audit events are kept.",
    allowed: "an integer from 1 to 36500",
    parse: integer(1, 36_500),
    default: "400",
  }),
  retainIdempotencyHours: fixed({
    name: "HEADGATE_RETAIN_IDEMPOTENCY",
    description: "Hours for which the reply to a request with an Idempotency-Key is kept.",
    allowed: "an integer from 1 to 8760",
    parse: integer(1, 8760),
    default: "24",
  }),
  retainResultsDays: fixed({
    name: "HEADGATE_RETAIN_RESULTS",
    description: "Days for which the results of commands are kept on this node.",
    allowed: "an integer from 1 to 36500",
    parse: integer(1, 36_500),
    default: "30",
  }),
  retainLogsDays: fixed({
    name: "HEADGATE_RETAIN_LOGS",
    description: "Days for which the logs of commands are kept on this node.",
    allowed: "an integer from 1 to 36500",
    parse: integer(1, 36_500),
    default: "30",
  }),
  retainSizeMiB: fixed({
    name: "HEADGATE_RETAIN_SIZE",
    description:
      "Space for the results, logs and event logs of ended commands on this node; beyond it the oldest are deleted.",
    allowed: "a size such as 100g or 500m",
    parse: sizeMiB,
    default: "100g",
  }),
} as const;
