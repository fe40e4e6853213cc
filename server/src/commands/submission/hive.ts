import type { RefreshEngine } from "../../accounts/contract.ts";
import { invalid } from "../../lib/fault.ts";
import type { SubmittedCommand } from "../store/command-row.ts";
import type { SubmissionInput } from "./body.ts";
import { EMPTY_PLAN, type Source, type SubmissionPlan } from "./plan.ts";

/** §4.5: the template of a table refresh. */
export const REFRESH_TEMPLATE = "s3import";

const HIVE_NAME = /^[A-Za-z_][A-Za-z0-9_]{0,127}$/;

/** The keys of §2.2, in its order. */
const hiveCommand = {
  sample: false,
  approx_aggregations: false,
  approx_mode: false,
  md_cmd: null,
  query: null as string | null,
  loader_table_name: null as string | null,
  retry: 0,
  script_location: null as string | null,
  loader_stable: 0,
};

export function isRefresh({ template }: SubmissionInput): boolean {
  return template === REFRESH_TEMPLATE;
}

/**
 * The server builds the statement; checked names make sure that it contains nothing else. The engine is stored, so that a
 * rerun uses the same one.
 */
export function planRefresh(body: SubmissionInput, engine: RefreshEngine): SubmissionPlan {
  const database = hiveName("db_name", body.db_name);
  const table = hiveName("hive_table", body.hive_table);
  const { loader_stable: isStable = false, loader_stable_mult: stableMinutes = 1 } = body;
  const query = `alter table \`${database}\`.\`${table}\` recover partitions`;
  return {
    ...EMPTY_PLAN,
    commandType: "HiveCommand",
    template: REFRESH_TEMPLATE,
    command: {
      ...hiveCommand,
      query,
      loader_table_name: `${database}.${table}`,
      loader_stable: isStable ? 1 : 0,
    },
    source: engine === "spark" ? { kind: "inline", field: "query", text: query, language: "sql" } : null,
    options: { database, table, stableMinutes: isStable ? stableMinutes : null, engine },
    retry: 0,
    retryDelayMinutes: 0,
  };
}

/** Only a refresh has options. Old versions stored no engine and had only the native one. */
export function isNativeRefresh({ commandType, options }: SubmittedCommand): boolean {
  return commandType === "HiveCommand" && options !== null && options["engine"] !== "spark";
}

export function planHive(body: SubmissionInput): SubmissionPlan {
  const { retry = 0, retry_delay: retryDelayMinutes = 0 } = body;
  return {
    ...EMPTY_PLAN,
    commandType: "HiveCommand",
    template: body.template || "generic",
    command: { ...hiveCommand, query: body.query || null, retry, script_location: body.script_location || null },
    source: sourceOf(body),
    retry,
    retryDelayMinutes,
  };
}

function sourceOf({ query, script_location: uri }: SubmissionInput): Source {
  if (query && uri) throw invalid("query", "must not be used with script_location");
  if (query) return { kind: "inline", field: "query", text: query, language: "sql" };
  if (uri) return { kind: "script", uri, language: "sql" };
  throw invalid(
    "query",
    `is required: a HiveCommand needs a query, a script_location or the template ${REFRESH_TEMPLATE}`,
  );
}

function hiveName(field: string, name: string | undefined): string {
  if (name === undefined) throw invalid(field, "is required");
  if (HIVE_NAME.test(name)) return name;
  throw invalid(field, "must have 1 to 128 letters, digits and underscores, and not begin with a digit");
}
