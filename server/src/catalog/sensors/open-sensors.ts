import type { AccountStorage } from "../../accounts/contract.ts";
import { Fault } from "../../lib/fault.ts";
import type { AccountTables } from "../tables/account-tables.ts";
import type { PartitionQuestion } from "../tables/partition-question.ts";
import type { FileQuestion } from "./file-question.ts";
import { checkFiles } from "./check-files.ts";
import type { PartitionSensorQuestion } from "./partition-sensor-question.ts";
import { sensorReply, type SensorReply, type SensorStatusForm } from "./sensor-status.ts";
import { SensorWaits } from "./sensor-waits.ts";

export interface WithSensors {
  sensors: Sensors;
}

/** The sensor requests that wait on this node. */
export interface Sensors {
  readonly partitions: SensorWaits<PartitionSensorQuestion>;
  readonly files: SensorWaits<FileQuestion>;
  readonly reply: SensorReply;
}

const PARTITIONS_EVERY_MS = 1000;
/** Stores charge for calls. */
const FILES_EVERY_MS = 5000;
/** For one check of the files of one account. */
const MAX_FILES = 2000;

export function openSensors(
  accountTables: AccountTables,
  storage: AccountStorage,
  statusForm: SensorStatusForm,
): Sensors {
  return {
    reply: sensorReply(statusForm),
    partitions: new SensorWaits({
      check: (accountId, questions) => checkPartitions(accountTables, accountId, questions),
      everyMs: PARTITIONS_EVERY_MS,
    }),
    files: new SensorWaits({
      check: (accountId, questions) => checkFiles(storage, accountId, questions),
      everyMs: FILES_EVERY_MS,
      maxLookups: MAX_FILES,
    }),
  };
}

/** In the order of the questions: the answer, or why it cannot be given. */
export async function checkPartitions(
  accountTables: AccountTables,
  accountId: number,
  questions: readonly PartitionQuestion[],
): Promise<(boolean | Fault)[]> {
  const answers = await accountTables.hasPartitions(accountId, questions);
  return answers.map((answer) => answer ?? new Fault("invalid", "Table can't be found in metastore"));
}
