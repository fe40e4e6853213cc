import { requireFeature, type Caller } from "../../access/caller.ts";
import type { RefreshEngine } from "../../accounts/contract.ts";
import type { MacroValues } from "./macros.ts";
import type { CommandType, SubmittedCommand } from "../store/command-row.ts";
import { type SubmissionInput, LONGEST_TEXT_BYTES } from "./body.ts";
import type { Language } from "./language.ts";
import { invalid } from "../../lib/fault.ts";
import type { Feature } from "../../lib/features.ts";

/** The part of a kind of command that submission uses. */
export interface SubmittableKind {
  /**
   * Turns a submission into a command that `matches` this kind, before scripts are read and macros evaluated. Throws if
   * the submission is invalid. Undefined: the submission is of another kind.
   */
  plan(
    body: TypedSubmission,
    account: SubmittingAccount,
  ): Promise<SubmissionPlan | undefined> | SubmissionPlan | undefined;
  /** Whether the command is of this kind: decides for reruns, and for rows that have no kind. */
  matches(command: SubmittedCommand): boolean;
  /** Throws if its command-line words cannot run. `text`: the text that runs, with its macros filled in. */
  checkWords?(command: SubmittedCommand, values: MacroValues, text: string | null): void;
  /** Whether `checkWords` needs the text. Absent: it does not. */
  isCommandLine?(command: SubmittedCommand): boolean;
  /** Whether it runs on a connect cluster, a remote server that accepts only SQL statements. */
  readonly runsOnConnect: boolean;
}

export type TypedSubmission = SubmissionInput & { readonly command_type: CommandType };

/** Settings of the account, read when a plan needs them. */
export interface SubmittingAccount {
  refreshEngine(): Promise<RefreshEngine>;
}

export interface SubmissionPlan {
  commandType: CommandType;
  template: string;
  /** The `command` object of §2.2, as submitted. */
  command: Record<string, unknown>;
  /** The text that runs, from the request or from a stored script; null: there is none. */
  source: Source | null;
  /** Other texts that macros are filled into when the command runs. */
  macroTexts: Readonly<Record<string, string>>;
  /** The field of `command` that may contain credentials, which are masked before anything is stored. Null: none. */
  secretField: "sub_command_args" | null;
  /** Options of the run that are not part of the `command` object. */
  options: Readonly<Record<string, unknown>> | null;
  appId: number | null;
  retry: number;
  retryDelayMinutes: number;
}

export type Source =
  | { kind: "inline"; field: string; text: string; language: Language }
  | { kind: "script"; uri: string; language: Language };

export type Submitter = Pick<Caller, "accountId" | "features">;

/** The fields that most plans leave empty. */
export const EMPTY_PLAN = { source: null, macroTexts: {}, secretField: null, options: null, appId: null } as const;

export function checkEngine(engineType: string, { runsOnConnect }: Pick<SubmittableKind, "runsOnConnect">): void {
  if (engineType === "connect" && !runsOnConnect) {
    throw invalid("label", "names a connect cluster, which runs SQL only");
  }
}

/** The longest program. Features allow more, but not for command lines. */
export const INLINE_BYTES = 256 * 1024;
export const SCRIPT_BYTES = 1024 * 1024;
/** The longest arguments, with their macros filled in. */
export const ARGUMENTS_BYTES = 256 * 1024;

export interface TextLimit {
  bytes: number;
  /** The feature that allows more. */
  feature: Feature | null;
}

export function inlineLimit(submitter: Submitter, language: Language): TextLimit {
  return limitOf(submitter, language, INLINE_BYTES, "large_inline_content");
}

export function scriptLimit(submitter: Submitter, language: Language): TextLimit {
  return limitOf(submitter, language, SCRIPT_BYTES, "large_scripts");
}

export function checkLength(submitter: Submitter, field: string, bytes: number, limit: TextLimit): void {
  if (bytes <= limit.bytes) return;
  if (limit.feature !== null && bytes <= LONGEST_TEXT_BYTES) requireFeature(submitter, limit.feature, field);
  throw tooLong(field, limit.feature === null ? limit.bytes : LONGEST_TEXT_BYTES);
}

export function tooLong(field: string, bytes: number): Error {
  return invalid(field, `must have at most ${bytes / 1024} KiB`);
}

function limitOf({ features }: Submitter, language: Language, bytes: number, feature: Feature): TextLimit {
  if (language === "command_line") return { bytes, feature: null };
  return features.has(feature) ? { bytes: LONGEST_TEXT_BYTES, feature: null } : { bytes, feature };
}
