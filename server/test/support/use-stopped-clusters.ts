import { afterAll, afterEach, beforeAll, beforeEach } from "vitest";
import { makeScratchCluster, type ScratchCluster } from "./scratch-cluster.ts";

/** Gives each test of the surrounding `describe` a stopped cluster, cloned from one that is created once. */
export function useStoppedClusters(cacheDir: string, give: (scratch: ScratchCluster) => void): void {
  let template: ScratchCluster;
  let clone: ScratchCluster;
  beforeAll(async () => {
    template = makeScratchCluster(cacheDir);
    await template.start();
    await template.stop();
  });
  beforeEach(async () => {
    clone = await template.clone();
    give(clone);
  });
  afterEach(() => clone.dispose());
  afterAll(() => template.dispose());
}
