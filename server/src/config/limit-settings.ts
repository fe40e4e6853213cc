import { integer, share, sizeMiB, sizeMiBOrNone } from "./parse-value.ts";
import { derived, fixed } from "./setting.ts";

/** Settings that limit the resources of one user, account or program. */
export const limitSettings = {
  rateLimitPerSecond: fixed({
    name: "HEADGATE_RATE_LIMIT",
    description: "Requests per second for each token, with bursts of five times as many. 0 disables the limit.",
    allowed: "an integer from 0 to 1000000",
    parse: integer(0, 1_000_000),
    default: "200",
  }),
  badTokenLimitPerMinute: fixed({
    name: "HEADGATE_BAD_TOKEN_LIMIT",
    description: "Requests per minute with an unknown token for each address. 0 disables the limit.",
    allowed: "an integer from 0 to 1000000",
    parse: integer(0, 1_000_000),
    default: "100",
  }),
  accountsPerUser: fixed({
    name: "HEADGATE_ACCOUNTS_PER_USER",
    description: "Accounts that one user may create through the API. Operators may create any number.",
    allowed: "an integer from 0 to 100000",
    parse: integer(0, 100_000),
    default: "20",
  }),
  connections: fixed({
    name: "HEADGATE_CONNECTIONS",
    description:
      "Open connections of clients. At the limit, a new one replaces one of the user with the most connections. Requests " +
      "that wait or stream have shares of this number. Connections of trusted proxies count as well.",
    allowed: "an integer from 10 to 1000000",
    parse: integer(10, 1_000_000),
    default: "4000",
  }),
  accountBodiesMiB: fixed({
    name: "HEADGATE_ACCOUNT_BODIES",
    description: "Memory for concurrent request bodies of one account. Requests beyond it get 429.",
    allowed: "a size such as 100m or 1g",
    parse: sizeMiB,
    default: "64m",
  }),
  nodeBodiesMiB: fixed({
    name: "HEADGATE_NODE_BODIES",
    description:
      "Memory for concurrent request bodies of all accounts on one node, not counting the first 2 MiB of each account. " +
      "Requests beyond it get 503.",
    allowed: "a size such as 100m or 1g",
    parse: sizeMiB,
    default: "256m",
  }),
  commandsPerAccount: fixed({
    name: "HEADGATE_COMMANDS_PER_ACCOUNT",
    description: "Commands of one account that may run at the same time, on all nodes together.",
    allowed: "an integer from 1 to 100000",
    parse: integer(1, 100_000),
    default: "20",
  }),
  commandsPerCluster: fixed({
    name: "HEADGATE_COMMANDS_PER_CLUSTER",
    description: "Commands that may run at the same time on a cluster without a limit of its own.",
    allowed: "an integer from 1 to 100000",
    parse: integer(1, 100_000),
    default: "8",
  }),
  accountMemory: fixed({
    name: "HEADGATE_ACCOUNT_MEMORY",
    description:
      "Memory of a node that the commands of one account may use while other accounts need theirs. Make it as large as " +
      "the commands that must start beside busy accounts; larger ones wait until the others leave enough. 0 disables " +
      "the limit.",
    allowed: "a share of the node's budget such as 50%, a size such as 8g, or 0",
    parse: share,
    default: "50%",
  }),
  logLimitMiB: fixed({
    name: "HEADGATE_LOG_LIMIT",
    description: "Maximum size of a command's log; output beyond it is dropped.",
    allowed: "a size such as 100m or 1g",
    parse: sizeMiB,
    default: "100m",
  }),
  inlineResultLimitMiB: fixed({
    name: "HEADGATE_INLINE_RESULT_LIMIT",
    description:
      "Results of this size or more are not in the answer, which then names their location in the account's storage. " +
      "Raise it for clients that cannot read results from there.",
    allowed: "a size such as 20m or 1g",
    parse: sizeMiB,
    default: "20m",
  }),
  outputLimitMiB: fixed({
    name: "HEADGATE_OUTPUT_LIMIT",
    description:
      "Maximum size of a command's result; a command that exceeds it ends as error without a result. 0 disables the " +
      "limit.",
    allowed: "a size such as 10g or 500m, or 0",
    parse: sizeMiBOrNone,
    default: "10g",
  }),
  runProcesses: derived({
    name: "HEADGATE_RUN_PROCESSES",
    description: "Processes and threads that a command's program may have at the same time. 0 disables the limit.",
    allowed: "0, or an integer from 16 to 1000000",
    parse: (text) => (text === "0" ? 0 : integer(16, 1_000_000)(text)),
    derived: "1024, plus 128 for each core",
  }),
  runSessions: fixed({
    name: "HEADGATE_RUN_SESSIONS",
    description:
      "Sessions (setsid) that a command's program may open if the kernel gives each session an equal " +
      "share of CPU time. 0 disables the limit.",
    allowed: "0, or an integer from 2 to 1000000",
    parse: (text) => (text === "0" ? 0 : integer(2, 1_000_000)(text)),
    default: "32",
  }),
  runMemoryMiB: derived({
    name: "HEADGATE_RUN_MEMORY",
    description:
      "Memory that a command's program may use beyond the memory reserved for the command (the heap of its driver and " +
      "the overhead), including its files in /dev/shm. 0 disables the limit.",
    allowed: "a size such as 4g or 512m, or 0",
    parse: sizeMiBOrNone,
    derived: "2g, plus 256m for each core",
  }),
  runDisk: fixed({
    name: "HEADGATE_RUN_DISK",
    description:
      "Space that the folder of a running command may use on the data disk: scratch files, output, log and event log. 0 " +
      "disables the limit.",
    allowed: "a share of the disk such as 50%, a size such as 100g, or 0",
    parse: share,
    default: "50%",
  }),
  accountDisk: fixed({
    name: "HEADGATE_ACCOUNT_DISK",
    description:
      "Space that the files of one account may use on this node's data disk: storage, results, logs and scratch files. " +
      "Beyond it the account's commands end as error, and new ones are refused. 0 disables the limit.",
    allowed: "a share of the disk such as 50%, a size such as 100g, or 0",
    parse: share,
    default: "50%",
  }),
  runNice: fixed({
    name: "HEADGATE_RUN_NICE",
    description: "The nice value of programs: higher values leave more CPU time to the server.",
    allowed: "an integer from 0 to 19",
    parse: integer(0, 19),
    default: "19",
  }),
  lowDiskPercent: fixed({
    name: "HEADGATE_LOW_DISK",
    description: "Minimum free space of the data disk, in percent: below it writes are refused. 0 disables the check.",
    allowed: "an integer from 0 to 99",
    parse: integer(0, 99),
    default: "5",
  }),
} as const;
