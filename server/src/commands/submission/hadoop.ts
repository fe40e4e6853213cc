/**
 * §4.4. Options come in `sub_command_args`, which is kept byte for byte except for credentials, or as fields, which are
 * appended to it as words. Their meaning is checked only when the command runs, because §7 treats mistakes in them as
 * failures of the job.
 */
import { invalid } from "../../lib/fault.ts";
import { quoteWord, splitWords } from "../../lib/shell-words.ts";
import { copyOptionFields, type SubmissionInput } from "./body.ts";
import { EMPTY_PLAN, type SubmissionPlan } from "./plan.ts";

type CopyOption = keyof typeof copyOptionFields;
const COPY_OPTIONS = Object.keys(copyOptionFields) as CopyOption[]; // the type of Object.keys is string[]

export function planHadoop(body: SubmissionInput): SubmissionPlan {
  if (body.sub_command !== "s3distcp") throw invalid("sub_command", "must be s3distcp");
  const { sub_command_args: given = "", retry = 0, retry_delay: retryDelayMinutes = 0 } = body;
  const args = [given, ...builtWords(body)].filter((part) => part !== "").join(" ");
  checkNotInBoth(given, body);
  return {
    ...EMPTY_PLAN,
    commandType: "HadoopCommand",
    template: body.template || "generic",
    command: { sub_command: body.sub_command, sub_command_args: args },
    macroTexts: { sub_command_args: args },
    secretField: "sub_command_args",
    retry,
    retryDelayMinutes,
  };
}

/** Single-quotes each word, and leaves out flags that are false. */
function builtWords(body: SubmissionInput): string[] {
  return COPY_OPTIONS.flatMap((option) => {
    const value = body[option];
    if (value === undefined || value === false) return [];
    return value === true ? [quoteWord(`--${option}`)] : [quoteWord(`--${option}`), quoteWord(String(value))];
  });
}

function checkNotInBoth(args: string, body: SubmissionInput): void {
  const inArgs = new Set(splitWords(args, "sub_command_args").map(optionOf));
  const both = COPY_OPTIONS.find((option) => body[option] !== undefined && inArgs.has(option));
  if (both !== undefined) throw invalid(both, "must not be given twice: it is also in sub_command_args");
}

/** The option in a word such as `--name`, `-name` or `--name=value`; undefined: the word is not an option. */
function optionOf(word: string): string | undefined {
  return /^--?([A-Za-z0-9]+)(=|$)/.exec(word)?.[1];
}
