import { createHash } from "node:crypto";

/**
 * What one part of the product adds to a JVM of Spark: the account's storage, its metastore, a cluster, an app. All of
 * them together shape the JVM; a change of any is another JVM.
 */
export interface Contribution {
  /** May hold secrets: they reach Spark by a file, never by an argument. */
  readonly properties: Readonly<Record<string, string>>;
  /** Behind Spark's own jars. */
  readonly classPath: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Folders and files that its sandbox has to show. */
  readonly readOnly: readonly string[];
  readonly writable: readonly string[];
  /** A server that runs somewhere already: then the rest shapes nothing. */
  readonly remote?: RemoteSpark | undefined;
  /** The generation of the app; a JVM of an earlier generation is no longer used. Absent: 0. */
  readonly generation?: number | undefined;
}

/** A Spark Connect server of somebody else's. */
export interface RemoteSpark {
  readonly host: string;
  /** That of the host which was checked: nothing else is connected to. */
  readonly address: string;
  readonly port: number;
  readonly tls: boolean;
  /** Undefined: it asks for none. */
  readonly token: string | undefined;
}

/** As one part of the product says it, before all of them are put together. */
export interface ContributedPart extends Partial<Contribution> {
  /** Properties that count less than those of any part. */
  readonly defaults?: Contribution["properties"];
}

export const NOTHING_CONTRIBUTED: Contribution = { properties: {}, classPath: [], env: {}, readOnly: [], writable: [] };

/** Of the same property the later part's counts. */
export function mergeContributions(parts: readonly ContributedPart[]): Contribution {
  const properties = [...parts.map(({ defaults }) => defaults), ...parts.map((part) => part.properties)];
  return {
    properties: Object.assign({}, ...properties) as Record<string, string>,
    classPath: parts.flatMap(({ classPath = [] }) => classPath),
    env: Object.assign({}, ...parts.map(({ env }) => env)) as Record<string, string>,
    readOnly: parts.flatMap(({ readOnly = [] }) => readOnly),
    writable: parts.flatMap(({ writable = [] }) => writable),
    remote: parts.findLast(({ remote }) => remote !== undefined)?.remote,
    generation: Math.max(0, ...parts.map(({ generation = 0 }) => generation)),
  };
}

/** The same for the same contribution, whatever the order of its keys. Tells nothing of the secrets in it. */
export function contributionDigest(contribution: Contribution): string {
  const sorted = (record: Readonly<Record<string, string>>): [string, string][] =>
    Object.entries(record).toSorted(([one], [other]) => (one < other ? -1 : 1));
  const { properties, env, classPath, readOnly, writable, remote, generation = 0 } = contribution;
  const shape = remote ?? [sorted(properties), sorted(env), classPath, readOnly, writable];
  // Generation 0 keeps the digest of servers that were started before generations existed.
  const text = JSON.stringify(generation === 0 ? shape : [shape, generation]);
  return createHash("sha256").update(text).digest("hex").slice(0, 16);
}
