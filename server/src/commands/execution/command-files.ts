import { join } from "node:path";

/**
 * The paths of a command's files. The folder of the command and the files of the runner (spec, status) belong to the
 * server, and the program cannot read them. In the folder of an attempt, only `work` and `events` belong to the account's
 * user.
 */
export interface CommandFiles {
  readonly folder: string;
  /** Counts from 1. */
  attempt(number: number): AttemptFiles;
  /** The output of the last attempt. A command that never ran has the attempt 0, without files. */
  output(lastAttempt: number): string;
  /** The log of the last attempt. */
  log(lastAttempt: number): string;
}

export interface AttemptFiles {
  readonly folder: string;
  /** Written by the server for the runner. */
  readonly spec: string;
  readonly status: string;
  /** Standard output, unchanged. */
  readonly output: string;
  /** Standard error, with the messages of the runner and the queue. */
  readonly log: string;
  /** The program's current folder. */
  readonly work: string;
  readonly eventLogFolder: string;
  /** The name of the Spark application, and so of its event log. */
  readonly applicationId: string;
  readonly eventLog: string;
}

export function commandFiles(dataDir: string, accountId: number, commandId: number): CommandFiles {
  const folder = join(dataDir, "accounts", String(accountId), "commands", String(commandId));
  const attempt = (number: number): AttemptFiles => {
    const own = join(folder, "attempts", String(number));
    const applicationId = `command-${commandId}-${number}`;
    const eventLogFolder = join(own, "events");
    return {
      folder: own,
      spec: join(own, "spec.json"),
      status: join(own, "status.json"),
      output: join(own, "output"),
      log: join(own, "log"),
      work: join(own, "work"),
      eventLogFolder,
      applicationId,
      eventLog: join(eventLogFolder, applicationId),
    };
  };
  return {
    folder,
    attempt,
    output: (lastAttempt) => attempt(lastAttempt).output,
    log: (lastAttempt) => attempt(lastAttempt).log,
  };
}
