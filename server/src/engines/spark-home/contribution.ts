import { createHash } from "node:crypto";

/**
 * The configuration that one part of the product adds to a Spark JVM: the account's storage, its metastore, a cluster,
 * an app. All contributions together define the JVM; if one changes, a new JVM is needed.
 */
export interface Contribution {
  /** May hold secrets, so they are passed to Spark in a file, never as arguments. */
  readonly properties: Readonly<Record<string, string>>;
  /** Placed after Spark's own jars. */
  readonly classPath: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Folders and files that must be visible in the sandbox. */
  readonly readOnly: readonly string[];
  readonly writable: readonly string[];
  /** A running remote server, for which the rest has no effect. */
  readonly remote?: RemoteSpark | undefined;
  /** The generation of the app; a JVM of an earlier generation is no longer used. Absent: 0. */
  readonly generation?: number | undefined;
  /** Whether table formats are part of it, so that their settings are not the users'. */
  readonly hasTableFormats?: boolean;
  /**
   * Statements for a warm server that is idle for the first time: they load classes that its other statements do not. Those
   * of a group need the same session.
   */
  readonly warmUp?: readonly (readonly string[])[] | undefined;
  /** Properties that were left out because the server sets them. */
  readonly ignored?: readonly string[];
}

/** A Spark Connect server that Headgate does not manage. */
export interface RemoteSpark {
  readonly host: string;
  /** The address of the host that was checked, and the only one to connect to. */
  readonly address: string;
  readonly port: number;
  readonly tls: boolean;
  /** Undefined: the server has no authentication. */
  readonly token: string | undefined;
}

/** A contribution before the merge. */
export interface ContributedPart extends Partial<Contribution> {
  /** Properties that the `properties` of any part override. */
  readonly defaults?: Contribution["properties"];
}

export const NOTHING_CONTRIBUTED: Contribution = { properties: {}, classPath: [], env: {}, readOnly: [], writable: [] };

/** For a repeated property the later part wins. */
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

/** Does not depend on the order of keys, and reveals nothing about the secrets. */
export function contributionDigest(contribution: Contribution): string {
  const sorted = (record: Readonly<Record<string, string>>): [string, string][] =>
    Object.entries(record).toSorted(([one], [other]) => (one < other ? -1 : 1));
  const { properties, env, classPath, readOnly, writable, remote, generation = 0 } = contribution;
  const shape = remote ?? [sorted(properties), sorted(env), classPath, readOnly, writable];
  // Generation 0 keeps the digest of servers that were started before generations existed.
  const text = JSON.stringify(generation === 0 ? shape : [shape, generation]);
  return createHash("sha256").update(text).digest("hex").slice(0, 16);
}
