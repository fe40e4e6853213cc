import type { Metastore } from "../../engines/hive-metastore/metastore.ts";
import type { Contribution } from "../../engines/spark-home/contribution.ts";
import type { OpenSecrets } from "./metastore-secrets.ts";

type Controls = "ready" | "listening" | "isAlive" | "isHealthy" | "ended" | "stop";

/** One process with its folder, whether it runs or not. */
export interface MetastoreProcess extends Pick<Metastore, Controls> {
  /** May be called once. Resolves when the process is being started; `ready` resolves when it answers. */
  startFor(launch: MetastoreLaunch): Promise<void>;
}

export interface MetastoreLaunch {
  readonly accountId: number;
  readonly secrets: OpenSecrets;
  readonly storage: Partial<Contribution>;
  /** Used if it is free; otherwise any port is. */
  readonly port: number;
}
