import type { Contribution } from "../../engines/spark-home/contribution.ts";
import type { SparkPlace } from "../execution/spark-place.ts";

type Cluster = Pick<SparkPlace, "accountId" | "clusterId">;

/** The contribution of the cluster alone. Unlike all contributions, reading it starts no metastore. */
export type ClusterOf = (accountId: number, clusterId: number) => Promise<Partial<Contribution>>;

/** Remembers which clusters are remote servers. */
export class RemoteClusters {
  readonly #clusterOf: ClusterOf;
  readonly #known = new Set<string>();
  readonly #asked = new Set<string>();

  constructor(clusterOf: ClusterOf) {
    this.#clusterOf = clusterOf;
  }

  has(cluster: Cluster): boolean {
    return this.#known.has(clusterKey(cluster));
  }

  learn(cluster: Cluster, isRemote: boolean): void {
    if (isRemote) this.#known.add(clusterKey(cluster));
    else this.#known.delete(clusterKey(cluster));
  }

  /** Reads the cluster in the background, for the next call of `has`. */
  findOut(cluster: Cluster): void {
    const key = clusterKey(cluster);
    if (this.#asked.has(key)) return;
    this.#asked.add(key);
    this.#clusterOf(cluster.accountId, cluster.clusterId)
      .then(({ remote }) => this.learn(cluster, remote !== undefined))
      .catch(() => undefined)
      .finally(() => this.#asked.delete(key));
  }
}

function clusterKey({ accountId, clusterId }: Cluster): string {
  return `${accountId}/${clusterId}`;
}
