import type { Metastore } from "../../engines/hive-metastore/metastore.ts";
import type { Contribution } from "../../engines/spark-home/contribution.ts";
import type { OpenSecrets } from "./metastore-secrets.ts";

type Controls = "ready" | "listening" | "isAlive" | "isHealthy" | "ended" | "stop";

/** One process, by its folder, whether it runs or not. */
export interface MetastoreProcess extends Pick<Metastore, Controls> {
  /** Once. Settles when it is on its way; `ready` tells when it answers. */
  startFor(launch: MetastoreLaunch): Promise<void>;
}

export interface MetastoreLaunch {
  readonly accountId: number;
  readonly secrets: OpenSecrets;
  readonly storage: Partial<Contribution>;
  /** If it is free, else any. */
  readonly port: number;
}
