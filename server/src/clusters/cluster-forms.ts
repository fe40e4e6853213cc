/**
 * Clusters by version. Headgate's own form is v2. In v1.2, replies have the envelope that clients of the original
 * interface read. Both versions accept the bodies that such clients send (sent-body.ts).
 */
import { Type, type Static } from "typebox";
import type { Version } from "../http/endpoint.ts";
import type { BodyForm, ListForm, VersionForm } from "../http/version-form.ts";
import { invalid } from "../lib/fault.ts";
import { Cluster } from "./cluster.ts";
import { EditBody } from "./cluster-fields.ts";
import { Label, Labels } from "./labels.ts";
import { readClusterBody, type ClusterFieldNames } from "./sent-body.ts";

type ClusterReply = Static<typeof Cluster>;
type ClusterForms = Partial<Record<Version, VersionForm<ClusterReply>>>;

const OldCluster = Type.Object(
  { ...Cluster.properties, label: Type.Array(Type.String(), { description: "The same as labels" }) },
  { title: "ClusterV1_2" },
);
const Warnings = Type.Optional(
  Type.Array(Type.String(), { description: "What the body asks for and was ignored, and what to use instead" }),
);
const Envelope = Type.Object({ cluster: OldCluster });
const EnvelopeWithWarnings = Type.Object({ cluster: OldCluster, warnings: Warnings });
const ClusterWithWarnings = Type.Object(
  { ...Cluster.properties, warnings: Warnings },
  { title: "ClusterWithWarnings" },
);

function inEnvelope(cluster: ClusterReply): Static<typeof Envelope> {
  return { cluster: { ...cluster, label: cluster.labels } };
}

/** For operations that reply with a cluster and take no settings. */
export const CLUSTER_IN_ENVELOPE: ClusterForms = { "v1.2": { reply: { schema: Envelope, write: inEnvelope } } };

/** `[{"cluster": {…}}, …]` */
export const CLUSTERS_IN_ENVELOPES: ListForm<{ clusters: readonly ClusterReply[] }> = {
  entry: Envelope,
  entries: ({ clusters }) => clusters.map((cluster) => ({ id: cluster.id, shown: inEnvelope(cluster) })),
};

/** The names are the same in all bodies; the endpoint's schema says which of them are required. */
const settable = new Set(Object.keys(EditBody.properties));
const NAMES: ClusterFieldNames = {
  settable,
  readOnly: new Set(Object.keys(ClusterWithWarnings.properties).filter((name) => !settable.has(name))),
};

const sentFields = {
  ...EditBody.properties,
  label: Type.Optional(
    Type.Unsafe<string | string[]>({ anyOf: [Label, Labels], description: "Another name of labels" }),
  ),
  cluster: Type.Optional(Type.Object({}, { description: "The fields of the cluster may also be in here" })),
  cluster_info: Type.Optional(
    Type.Object({}, { description: "The fields of the cluster may also be in here, with further settings beside it" }),
  ),
};

/** JSON Schema: the body has all the fields of at least one of these lists. */
const sentWith = (title: string, ...lists: string[][]) =>
  Type.Object(sentFields, { title, anyOf: lists.map((required) => ({ required })) });
const SentEdit = Type.Object(sentFields, { title: "ClusterChanges" });
const SentNew = sentWith("NewCluster", ["labels"], ["label"], ["cluster"], ["cluster_info"]);
const SentNewWithEngine = sentWith(
  "NewClusterWithEngine",
  ["labels", "engine"],
  ["label", "engine"],
  ["cluster"],
  ["cluster_info"],
);

export const CREATE_FORMS = changeForms({
  sent: { "v1.2": SentNew, v2: SentNewWithEngine },
  description: {
    "v1.2": "Without `engine`, the cluster gets the engine of the account's cluster `default`.",
    v2: "`engine` is required, unless there is `cluster_info`: then the cluster `default` has the engine.",
  },
  example: { cluster: { label: ["reports"] } },
  isEngineRequired: true,
});

export const CLONE_FORMS = changeForms({
  sent: { "v1.2": SentNew, v2: SentNew },
  example: { cluster: { label: ["weekly"] } },
});

export const EDIT_FORMS = changeForms({
  sent: { "v1.2": SentEdit, v2: SentEdit },
  example: { cluster: { max_concurrent_commands: 4 } },
});

function changeForms({
  sent,
  description,
  example,
  isEngineRequired = false,
}: {
  sent: Record<"v1.2" | "v2", BodyForm["schema"]>;
  description?: Record<"v1.2" | "v2", string>;
  /** For v1.2. */
  example: NonNullable<BodyForm["example"]>;
  /** In v2, unless there is `cluster_info`. */
  isEngineRequired?: boolean;
}): ClusterForms {
  return {
    "v1.2": {
      description: sentences(description?.["v1.2"], "Settings that clusters do not have are named in `warnings`."),
      body: { schema: sent["v1.2"], example, read: (body) => readClusterBody(body, NAMES) },
      reply: {
        schema: EnvelopeWithWarnings,
        write: (cluster, warnings) => ({ ...inEnvelope(cluster), ...named(warnings) }),
      },
    },
    v2: {
      description: sentences(
        description?.v2,
        "A body as in v1.2 is accepted, too; then settings that clusters do not have are named in `warnings`.",
      ),
      body: {
        schema: sent.v2,
        read(body) {
          const { fields, warnings, hasClusterInfo, isForeign } = readClusterBody(body, NAMES);
          if (isEngineRequired && !hasClusterInfo && !("engine" in fields)) throw invalid("engine", "is required");
          // Clients of v2 itself rely on unknown keys being ignored without a word.
          return { fields, warnings: isForeign ? warnings : [] };
        },
      },
      reply: { schema: ClusterWithWarnings, write: (cluster, warnings) => ({ ...cluster, ...named(warnings) }) },
    },
  };
}

function sentences(...texts: (string | undefined)[]): string {
  return texts.filter((text) => text !== undefined).join(" ");
}

function named(warnings: readonly string[]): { warnings?: string[] } {
  return warnings.length === 0 ? {} : { warnings: [...warnings] };
}
