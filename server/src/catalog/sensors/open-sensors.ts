import type { AccountStorage } from "../../accounts/contract.ts";
import type { AccountTables } from "../tables/account-tables.ts";
import type { FileQuestion } from "./file-question.ts";
import { lookForFiles } from "./look-for-files.ts";
import { lookForPartitions } from "./look-for-partitions.ts";
import type { PartitionSensorQuestion } from "./partition-sensor-question.ts";
import { SensorWaits } from "./sensor-waits.ts";

/** What waits on this node. For handlers: their services have it under this name. */
export interface WithSensors {
  sensors: Sensors;
}

export interface Sensors {
  readonly partitions: SensorWaits<PartitionSensorQuestion>;
  readonly files: SensorWaits<FileQuestion>;
}

const PARTITIONS_EVERY_MS = 1000;
/** Stores take money for calls. */
const FILES_EVERY_MS = 5000;
/** Of each look at the files of one account. */
const MOST_FILES = 2000;

export function openSensors(accountTables: AccountTables, storage: AccountStorage): Sensors {
  return {
    partitions: new SensorWaits({
      look: (accountId, questions) => lookForPartitions(accountTables, accountId, questions),
      everyMs: PARTITIONS_EVERY_MS,
    }),
    files: new SensorWaits({
      look: (accountId, questions) => lookForFiles(storage, accountId, questions),
      everyMs: FILES_EVERY_MS,
      limits: { lookups: MOST_FILES },
    }),
  };
}
