import { invalid } from "../lib/fault.ts";
import { COMMAND_STATUSES, type CommandStatus } from "./store/command-row.ts";
import type { HistoryFilter } from "./store/history.ts";

/** The filters of a request. Each is a comma-separated list. */
export interface FilterInput {
  command_type?: string;
  status?: string;
  name?: string;
  label?: string;
  cluster_label?: string;
  tags?: string;
  user_id?: string;
  command_id?: string;
  command_source?: string;
}

/** The statuses, and the words for them that clients of the original interface use. */
const STATUS_WORDS: Readonly<Record<string, readonly CommandStatus[] | undefined>> = {
  ...Object.fromEntries(COMMAND_STATUSES.map((status) => [status, [status]])),
  success: ["done"],
  failed: ["error"],
};

export function historyFilter(input: FilterInput): HistoryFilter {
  if (input.label !== undefined && input.cluster_label !== undefined && input.label !== input.cluster_label) {
    throw invalid("cluster_label", "must be the same as label when both are given");
  }
  return {
    commandTypes: list(input.command_type),
    statuses: list(input.status)?.flatMap(statusesOf),
    names: list(input.name),
    labels: list(input.label ?? input.cluster_label),
    tags: list(input.tags),
    userIds: list(input.user_id)?.map((text) => idOf("user_id", text)),
    commandIds: list(input.command_id)?.map((text) => idOf("command_id", text)),
    commandSources: list(input.command_source),
  };
}

/** An empty list is no filter. */
function list(text: string | undefined): string[] | undefined {
  const parts = (text ?? "")
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "");
  return parts.length === 0 ? undefined : [...new Set(parts)];
}

function statusesOf(word: string): readonly CommandStatus[] {
  const statuses = Object.hasOwn(STATUS_WORDS, word) ? STATUS_WORDS[word] : undefined;
  if (statuses === undefined) throw invalid("status", `must be one of ${Object.keys(STATUS_WORDS).join(", ")}`);
  return statuses;
}

function idOf(field: string, text: string): number {
  const id = /^\d+$/.test(text) ? Number(text) : NaN;
  if (!Number.isSafeInteger(id)) throw invalid(field, "must be an id or a comma-separated list of ids");
  return id;
}
