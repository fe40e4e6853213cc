import type { Caller } from "../../access/caller.ts";
import type { CommandType } from "../store/command-row.ts";
import type { Language } from "./language.ts";

/** What a submission comes to, before anything is read or evaluated. */
export interface SubmissionPlan {
  commandType: CommandType;
  template: string;
  /** The `command` object of §2.2, as submitted. */
  command: Record<string, unknown>;
  /** What runs: a text that came with the request, a stored script, or nothing of the kind. */
  source: Source | null;
  /** Other texts that macros are filled into when the command runs. */
  macroTexts: Readonly<Record<string, string>>;
  /** The field of `command` that may contain credentials, which are masked before anything is stored. Null: none. */
  secretField: "sub_command_args" | null;
  /** For the run, but not part of the interface's object. */
  options: Readonly<Record<string, unknown>> | null;
  appId: number | null;
  retry: number;
  retryDelayMinutes: number;
}

export type Source =
  | { kind: "inline"; field: string; text: string; language: Language }
  | { kind: "script"; uri: string; language: Language };

export type Submitter = Pick<Caller, "accountId" | "features">;

/** What most plans do not need. */
export const NOTHING_ELSE = { source: null, macroTexts: {}, secretField: null, options: null, appId: null } as const;
