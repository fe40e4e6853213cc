import { Type, type Static } from "typebox";
import { OneOf } from "../http/schema.ts";
import { hostOfConnect, hostsOfMaster } from "./engine-address.ts";
import type { ClusterEngine } from "./engine.ts";

/** A machine of a cluster. Clients look for the one with the role `master`. */
export const ClusterNode = Type.Object({
  role: OneOf(["master"]),
  hostname: Type.String({ examples: ["spark.example.com"] }),
});

/** Only machines that the engine names: YARN and Kubernetes choose theirs for each command. */
export function nodesOf(engine: ClusterEngine, thisHost: string): Static<typeof ClusterNode>[] {
  return mastersOf(engine, thisHost).map((host) => ({ role: "master", hostname: host }));
}

function mastersOf(engine: ClusterEngine, thisHost: string): string[] {
  switch (engine.type) {
    case "local":
      return [thisHost];
    case "standalone":
      return hostsOfMaster(engine.masterUrl);
    case "connect":
      return [hostOfConnect(engine.url)];
    case "yarn":
    case "kubernetes":
      return [];
  }
}
