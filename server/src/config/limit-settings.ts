import { integer, sizeMiB } from "./parse-value.ts";
import { fixed } from "./setting.ts";

/** Settings that limit what one user, account or program may take from the others. */
export const limitSettings = {
  rateLimitPerSecond: fixed({
    name: "HEADGATE_RATE_LIMIT",
    description: "Requests a second for each token, with bursts of five times as many. 0 turns the limit off.",
    allowed: "an integer from 0 to 1000000",
    parse: integer(0, 1_000_000),
    default: "200",
  }),
  badTokenLimitPerMinute: fixed({
    name: "HEADGATE_BAD_TOKEN_LIMIT",
    description: "Requests a minute with an unknown token for each address. 0 turns the limit off.",
    allowed: "an integer from 0 to 1000000",
    parse: integer(0, 1_000_000),
    default: "100",
  }),
  commandsPerAccount: fixed({
    name: "HEADGATE_COMMANDS_PER_ACCOUNT",
    description: "Commands of one account that run at the same time, on all nodes together.",
    allowed: "an integer from 1 to 100000",
    parse: integer(1, 100_000),
    default: "20",
  }),
  commandsPerCluster: fixed({
    name: "HEADGATE_COMMANDS_PER_CLUSTER",
    description: "Commands that run at the same time on a cluster that names no number of its own.",
    allowed: "an integer from 1 to 100000",
    parse: integer(1, 100_000),
    default: "8",
  }),
  logLimitMiB: fixed({
    name: "HEADGATE_LOG_LIMIT",
    description: "How much of a command's log is kept; what comes after it is dropped.",
    allowed: "a size such as 100m or 1g",
    parse: sizeMiB,
    default: "100m",
  }),
  lowDiskPercent: fixed({
    name: "HEADGATE_LOW_DISK",
    description: "Percent of the data disk that stay free: below it writes are refused. 0 turns the check off.",
    allowed: "an integer from 0 to 99",
    parse: integer(0, 99),
    default: "5",
  }),
} as const;
