import { integer, share, sizeMiB, sizeMiBOrNone } from "./parse-value.ts";
import { derived, fixed } from "./setting.ts";

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
      "Open connections of clients. At the limit, a new one takes the place of the one that has been idle longest, " +
      "those without a valid token first. Connections of trusted proxies do not count.",
    allowed: "an integer from 10 to 1000000",
    parse: integer(10, 1_000_000),
    default: "4000",
  }),
  accountBodiesMiB: fixed({
    name: "HEADGATE_ACCOUNT_BODIES",
    description: "Memory for request bodies of one account at the same time. More are 429.",
    allowed: "a size such as 100m or 1g",
    parse: sizeMiB,
    default: "64m",
  }),
  nodeBodiesMiB: fixed({
    name: "HEADGATE_NODE_BODIES",
    description:
      "Memory for request bodies of all accounts at the same time, on one node, beyond the first 2 MiB of each account. " +
      "More are 503.",
    allowed: "a size such as 100m or 1g",
    parse: sizeMiB,
    default: "256m",
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
  accountMemory: fixed({
    name: "HEADGATE_ACCOUNT_MEMORY",
    description:
      "Memory of a node that the commands of one account may take while commands of another account run or wait there. 0 " +
      "turns the limit off.",
    allowed: "a share of the node's budget such as 50%, a size such as 8g, or 0",
    parse: share,
    default: "50%",
  }),
  logLimitMiB: fixed({
    name: "HEADGATE_LOG_LIMIT",
    description: "How much of a command's log is kept; what comes after it is dropped.",
    allowed: "a size such as 100m or 1g",
    parse: sizeMiB,
    default: "100m",
  }),
  outputLimitMiB: fixed({
    name: "HEADGATE_OUTPUT_LIMIT",
    description:
      "How large the result of a command may be; beyond it the command ends as error, and has no result. 0 turns the " +
      "limit off.",
    allowed: "a size such as 10g or 500m, or 0",
    parse: sizeMiBOrNone,
    default: "10g",
  }),
  runProcesses: derived({
    name: "HEADGATE_RUN_PROCESSES",
    description:
      "Processes and threads that the program of a command may have at the same time. 0 turns the limit off.",
    allowed: "0, or an integer from 16 to 1000000",
    parse: (text) => (text === "0" ? 0 : integer(16, 1_000_000)(text)),
    derived: "1024, and 128 for each core",
  }),
  runSessions: fixed({
    name: "HEADGATE_RUN_SESSIONS",
    description:
      "Sessions of processes (setsid) that the program of a command may open where the kernel gives each session an equal " +
      "share of the processor. 0 turns the limit off.",
    allowed: "0, or an integer from 2 to 1000000",
    parse: (text) => (text === "0" ? 0 : integer(2, 1_000_000)(text)),
    default: "32",
  }),
  runMemoryMiB: derived({
    name: "HEADGATE_RUN_MEMORY",
    description:
      "Memory that the program of a command may take beyond what the command is counted with (the heap of its driver and " +
      "the overhead), its files in /dev/shm included. 0 turns the limit off.",
    allowed: "a size such as 4g or 512m, or 0",
    parse: sizeMiBOrNone,
    derived: "2g, and 256m for each core",
  }),
  runDisk: fixed({
    name: "HEADGATE_RUN_DISK",
    description:
      "Room that the folder of a running command may take on the data disk: scratch files, output, log and event log. 0 " +
      "turns the limit off.",
    allowed: "a share of the disk such as 50%, a size such as 100g, or 0",
    parse: share,
    default: "50%",
  }),
  accountDisk: fixed({
    name: "HEADGATE_ACCOUNT_DISK",
    description:
      "Room that the files of one account may take on this node's data disk: storage, results, logs and scratch files. " +
      "Above it the account's commands end as error, and new ones are refused. 0 turns the limit off.",
    allowed: "a share of the disk such as 50%, a size such as 100g, or 0",
    parse: share,
    default: "50%",
  }),
  runNice: fixed({
    name: "HEADGATE_RUN_NICE",
    description: "The nice value of programs: higher values leave more processor time to the server.",
    allowed: "an integer from 0 to 19",
    parse: integer(0, 19),
    default: "19",
  }),
  lowDiskPercent: fixed({
    name: "HEADGATE_LOW_DISK",
    description: "Percent of the data disk that stay free: below it writes are refused. 0 turns the check off.",
    allowed: "an integer from 0 to 99",
    parse: integer(0, 99),
    default: "5",
  }),
} as const;
