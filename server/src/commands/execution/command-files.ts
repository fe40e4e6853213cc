import { join } from "node:path";

/**
 * Where the files of a command are. The command's folder and what the runner keeps (spec, status) belong to the server
 * and are closed to the program; of an attempt only `work` and `events` belong to the account's user.
 */
export interface CommandFiles {
  readonly folder: string;
  /** Counts from 1. */
  attempt(number: number): AttemptFiles;
  /** What the last attempt printed; the attempt of a command that never ran is 0 and has no files. */
  output(lastAttempt: number): string;
  /** Of the last attempt. */
  log(lastAttempt: number): string;
}

export interface AttemptFiles {
  readonly folder: string;
  /** What the runner is told, and what it tells. */
  readonly spec: string;
  readonly status: string;
  /** Standard output, unchanged. */
  readonly output: string;
  /** Standard error, and what the runner and the queue have to say. */
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
