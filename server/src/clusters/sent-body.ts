/**
 * The bodies in which clients send a cluster: with its fields at the top level, in `cluster`, or in `cluster_info` with
 * further settings beside it; and with `label`, text or array, for `labels`.
 */
import { IgnoredFields, type FieldPath } from "../http/ignored-fields.ts";
import type { TranslatedBody } from "../http/version-form.ts";
import { invalid } from "../lib/fault.ts";
import { isRecord } from "../lib/is-record.ts";
import { insteadOf, isAlwaysMet, isForeignSetting } from "./ignored-settings.ts";

const WRAPPERS: readonly string[] = ["cluster", "cluster_info"];

/** The fields that a request can set, and those that only replies have. */
export interface ClusterFieldNames {
  readonly settable: ReadonlySet<string>;
  readonly readOnly: ReadonlySet<string>;
}

export interface ReadClusterBody extends TranslatedBody {
  readonly hasClusterInfo: boolean;
  /** Whether the body has anything that only clients of the original interface send. */
  readonly isForeign: boolean;
}

interface Layer {
  readonly path: FieldPath;
  readonly fields: Readonly<Record<string, unknown>>;
}

export function readClusterBody(
  sent: Readonly<Record<string, unknown>>,
  { settable, readOnly }: ClusterFieldNames,
): ReadClusterBody {
  const layers = layersOf(sent);
  const unwrapped = new Set<unknown>(layers.map((layer) => layer.fields));
  const fields = new Map<string, unknown>();
  const ignored = new IgnoredFields(isAlwaysMet);
  let isForeign = layers.length > 1;
  for (const { path, fields: given } of layers) {
    for (const name of Object.keys(given)) {
      const value = given[name];
      if (value === null || unwrapped.has(value)) continue;
      if (name === "label") add(fields, "labels", Array.isArray(value) ? value : [value]);
      else if (settable.has(name)) add(fields, name, value);
      else if (!readOnly.has(name)) {
        isForeign ||= isForeignSetting(name);
        ignored.add(path, name, value);
      }
    }
  }
  return {
    fields: Object.fromEntries(fields),
    warnings: ignored.warnings((path) => insteadOf(path, settable)),
    hasClusterInfo: layers.some(({ path }) => path.at(-1) === "cluster_info"),
    isForeign,
  };
}

function layersOf(sent: Layer["fields"]): Layer[] {
  const layers: Layer[] = [{ path: [], fields: sent }];
  for (const wrapper of WRAPPERS) layers.push(...layers.flatMap((layer) => innerLayer(layer, wrapper)));
  return layers;
}

function innerLayer({ path, fields }: Layer, wrapper: string): Layer[] {
  const inner = Object.hasOwn(fields, wrapper) ? fields[wrapper] : null;
  if (inner === null || inner === undefined) return [];
  if (!isRecord(inner)) throw invalid([...path, wrapper].join("."), "must be an object with the fields of a cluster");
  return [{ path: [...path, wrapper], fields: inner }];
}

function add(fields: Map<string, unknown>, name: string, value: unknown): void {
  const there = fields.get(name);
  if (there !== undefined && JSON.stringify(there) !== JSON.stringify(value)) {
    throw invalid(name, "must not have two different values in one request: send it once");
  }
  fields.set(name, value);
}
