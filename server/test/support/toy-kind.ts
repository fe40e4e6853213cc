import { mkdirSync, writeFileSync } from "node:fs";
import { noJobs } from "../../src/commands/results/job-source.ts";
import type { CommandKind } from "../../src/commands/kinds/command-kinds.ts";
import { type LiveRun, type CommandRun, SUCCEEDED } from "../../src/commands/execution/executor.ts";
import { printedResults } from "../../src/commands/results/result-source.ts";
import { EMPTY_PLAN } from "../../src/commands/submission/plan.ts";

/** A complete kind of command in one file, like those in `commands/kinds/`. Its commands print a greeting. */
export const toyKind: CommandKind = {
  name: "toy",
  plan: (body) =>
    body.sub_command === "toy"
      ? {
          ...EMPTY_PLAN,
          commandType: "HadoopCommand",
          template: "generic",
          command: { sub_command: "toy", sub_command_args: body.sub_command_args ?? "" },
          retry: 0,
          retryDelayMinutes: 0,
        }
      : undefined,
  matches: ({ command }) => command["sub_command"] === "toy",
  runsUsersCode: false,
  needsCluster: false,
  runsOnConnect: false,
  memory: { reservedMiB: () => 1 },
  executor: {
    unready: () => null,
    prepare: (run) => Promise.resolve({ spawn: () => Promise.resolve(helloRun(run)) }),
    adopt: (run) => Promise.resolve(helloRun(run)),
    tidy: () => Promise.resolve(),
  },
  results: printedResults,
  jobs: noJobs,
};

function helloRun({ command: { command }, files }: CommandRun): LiveRun {
  const text = `hello ${String(command["sub_command_args"])}`;
  return {
    handle: {},
    async begin() {
      mkdirSync(files.folder, { recursive: true });
      writeFileSync(files.output, text);
    },
    poll: () => Promise.resolve({ ...SUCCEEDED, outputBytes: text.length }),
    changed: () => Promise.resolve(),
    stop: () => Promise.resolve(),
  };
}
