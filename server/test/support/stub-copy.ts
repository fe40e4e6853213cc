import type { ListKinds } from "../../src/compose/kinds.ts";
import type { CopyProgram } from "../../src/commands/copies/copy-program.ts";
import { allKinds } from "../../src/commands/kinds/all-kinds.ts";
import { formatReportLine, type ReportLine } from "../../src/engines/s3-copy/report.ts";
import type { Client } from "./client.ts";

/** Runs the shell script in the option `--stub` of its request; `$REQUEST` names the request's file. */
const SCRIPT = `REQUEST="$1"; eval "$(sed -n 's/.*"--stub","\\([^"]*\\)".*/\\1/p' "$1" | base64 -d)"`;

/** Replaces the process of a copy by a shell in the real sandbox under the real runner. */
export const stubCopyProgram: CopyProgram = {
  unready: () => null,
  launch: () =>
    Promise.resolve({ argv: ["/bin/sh", "-c", SCRIPT, "copy"], env: { PATH: "/usr/bin:/bin" }, readOnly: [] }),
};

/** For `useServer`. */
export const withStubCopies: ListKinds = (parts) =>
  allKinds({ ...parts, copies: { ...parts.copies, program: stubCopyProgram } });

/** Submits a copy whose process is the shell script. */
export async function submitCopy(account: Client, script: string, more: object = {}): Promise<number> {
  const { id } = await account.post("/commands", {
    command_type: "HadoopCommand",
    sub_command: "s3distcp",
    sub_command_args: `--stub ${Buffer.from(script).toString("base64")}`,
    ...more,
  });
  return id;
}

/** A shell command that writes these lines of a report. */
export function printReport(...lines: readonly ReportLine[]): string {
  const text = lines
    .map(formatReportLine)
    .join("")
    .replaceAll("'", String.raw`'\''`);
  return `printf '%s' '${text}'`;
}

const NOTHING = {
  files: 0,
  bytes: 0,
  earlierFiles: 0,
  retries: 0,
  failure: null,
  isRefused: false,
  usedAccountKeys: false,
};

export function copyEnd(end: Partial<Extract<ReportLine, { end: unknown }>["end"]> = {}): ReportLine {
  return { end: { ...NOTHING, ...end } };
}
