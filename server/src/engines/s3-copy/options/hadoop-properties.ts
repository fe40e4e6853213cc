import type { S3Credentials } from "../../../object-store/s3/sign-request.ts";
import { CopyArgumentError } from "./copy-argument-error.ts";

/** The effects of the `-D` properties of a copy. */
export interface HadoopProperties {
  readonly credentials: S3Credentials | null;
  readonly parallelism: number | null;
  readonly notes: readonly string[];
}

type Meaning = "accessKeyId" | "secretAccessKey" | "sessionToken" | "tasks" | "taskLimit";

const meanings: ReadonlyMap<string, Meaning> = new Map<string, Meaning>([
  ["mapreduce.job.maps", "tasks"],
  ["mapreduce.job.reduces", "tasks"],
  ["mapred.map.tasks", "tasks"],
  ["mapred.reduce.tasks", "tasks"],
  ["mapreduce.job.running.map.limit", "taskLimit"],
  ["mapreduce.job.running.reduce.limit", "taskLimit"],
  ...["s3", "s3a", "s3n"].flatMap((scheme): [string, Meaning][] => [
    [`fs.${scheme}.access.key`, "accessKeyId"],
    [`fs.${scheme}.awsAccessKeyId`, "accessKeyId"],
    [`fs.${scheme}.secret.key`, "secretAccessKey"],
    [`fs.${scheme}.awsSecretAccessKey`, "secretAccessKey"],
    [`fs.${scheme}.session.token`, "sessionToken"],
    [`fs.${scheme}.awsSessionToken`, "sessionToken"],
  ]),
]);

/** If several properties have the same meaning, the last one counts; for numbers of tasks, the largest. */
export function readProperties(properties: readonly (readonly [string, string | null])[]): HadoopProperties {
  const keys = new Map<Meaning, string>();
  const tasks: number[] = [];
  const limits: number[] = [];
  const ignored = new Set<string>();
  for (const [name, value] of properties) {
    const meaning = value === null ? undefined : meanings.get(name);
    if (meaning === undefined || value === null) ignored.add(shownName(name));
    else if (meaning === "tasks") tasks.push(readCount(name, value));
    else if (meaning === "taskLimit") limits.push(readCount(name, value));
    else keys.set(meaning, readKey(name, value));
  }
  return {
    credentials: credentialsOf(keys),
    parallelism: parallelismOf(tasks, limits),
    notes: [...ignored].map((name) => `${name} has no effect.`),
  };
}

/** Hadoop treats 0 as "not set" for limits, and as "no such tasks" for counts. */
function parallelismOf(tasks: readonly number[], limits: readonly number[]): number | null {
  const asked = Math.max(0, ...tasks) || Infinity;
  const least = Math.min(asked, ...limits.filter((limit) => limit > 0));
  return least === Infinity ? null : least;
}

function credentialsOf(keys: ReadonlyMap<Meaning, string>): S3Credentials | null {
  if (keys.size === 0) return null;
  const [accessKeyId, secretAccessKey] = [keys.get("accessKeyId"), keys.get("secretAccessKey")];
  if (accessKeyId === undefined || secretAccessKey === undefined) {
    throw new CopyArgumentError(
      "The -D options must set both fs.s3a.access.key and fs.s3a.secret.key, or neither to use the account's keys.",
    );
  }
  return { accessKeyId, secretAccessKey, sessionToken: keys.get("sessionToken") };
}

function readCount(name: string, text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new CopyArgumentError(`-D ${name} must be a number from 0 to 999999999.`);
  return Number(text);
}

/** Keys are sent in headers. */
function readKey(name: string, text: string): string {
  if (/^[\x21-\x7e]{1,4096}$/.test(text)) return text;
  throw new CopyArgumentError(`-D ${name} must have 1 to 4096 printable ASCII characters without blanks.`);
}

/** Text that is not a property name may be a credential whose quotes were forgotten. */
function shownName(name: string): string {
  return /^[A-Za-z][\w.-]{0,255}$/.test(name) && name.includes(".") ? name : "A -D option without a property name";
}
