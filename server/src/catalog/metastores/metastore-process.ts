import type { Contribution } from "../../engines/spark-home/contribution.ts";
import type { OpenSecrets } from "./metastore-secrets.ts";

/** One process, by its folder, whether it runs or not. */
export interface MetastoreProcess {
  /** Once. Settles when it is on its way; `ready` tells when it answers. */
  start(launch: MetastoreLaunch): Promise<void>;
  /** The port, once it serves there. Fails with the reason when it has ended before it ever did. */
  ready(signal: AbortSignal): Promise<number>;
  /** The port, once nobody else can have it: who connects waits until it serves. Fails as `ready` does. */
  listening(signal: AbortSignal): Promise<number>;
  isAlive(): Promise<boolean>;
  /** Whether it answers who has the secret, within seconds. Fails when it could not be asked. */
  isHealthy(secret: string): Promise<boolean>;
  /** Settles when it has ended, whoever ended it, or the signal is aborted. */
  ended(signal: AbortSignal): Promise<void>;
  /** Settles when nothing of it is left. */
  stop(): Promise<void>;
}

export interface MetastoreLaunch {
  readonly accountId: number;
  readonly secrets: OpenSecrets;
  readonly storage: Partial<Contribution>;
  /** If it is free, else any. */
  readonly port: number;
}
