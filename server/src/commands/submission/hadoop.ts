import { invalid } from "../../lib/fault.ts";
import { secretMask } from "../../lib/secret.ts";
import { splitWords } from "../../lib/shell-words.ts";
import { copyOptionFields, type SubmissionInput } from "./body.ts";
import { NOTHING_ELSE, type SubmissionPlan } from "./plan.ts";
import { wordSpans } from "./word-spans.ts";

/**
 * §4.4. Options come in `sub_command_args`, kept byte for byte, or as fields, which become words behind it. Whether they
 * make sense is found out when the command runs, because §7 makes their mistakes failures of the job.
 */
type CopyOption = keyof typeof copyOptionFields;
const COPY_OPTIONS = Object.keys(copyOptionFields) as CopyOption[]; // Object.keys forgets the names
const SECRET_OPTION = "encryptionKey";

export function planHadoop(body: SubmissionInput): SubmissionPlan {
  if (body.sub_command !== "s3distcp") throw invalid("sub_command", "must be s3distcp");
  const { sub_command_args: given = "", retry = 0, retry_delay: retryDelayMinutes = 0 } = body;
  const args = [given, ...builtWords(body)].filter((part) => part !== "").join(" ");
  checkNotInBoth(given, body);
  const { shown, secrets } = withoutSecrets(args);
  return {
    ...NOTHING_ELSE,
    commandType: "HadoopCommand",
    template: body.template || "generic",
    command: { sub_command: body.sub_command, sub_command_args: shown },
    macroTexts: { sub_command_args: shown },
    secrets: secrets.length === 0 ? null : { [SECRET_OPTION]: secrets },
    retry,
    retryDelayMinutes,
  };
}

/** Each word single-quoted; a flag that is off is not there. */
function builtWords(body: SubmissionInput): string[] {
  return COPY_OPTIONS.flatMap((option) => {
    const value = body[option];
    if (value === undefined || value === false) return [];
    return value === true ? [quoted(`--${option}`)] : [quoted(`--${option}`), quoted(String(value))];
  });
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", String.raw`'\''`)}'`;
}

function checkNotInBoth(args: string, body: SubmissionInput): void {
  const inArgs = new Set(splitWords(args, "sub_command_args").map(optionOf));
  const both = COPY_OPTIONS.find((option) => body[option] !== undefined && inArgs.has(option));
  if (both !== undefined) throw invalid(both, "is in sub_command_args already");
}

/** The option that a word names, as `--name`, `-name`, `--name=value`; undefined: none. */
function optionOf(word: string): string | undefined {
  return /^--?([A-Za-z0-9]+)(=|$)/.exec(word)?.[1];
}

/** The values of the secret option, and the text with the mask in their place and every other byte as it was. */
function withoutSecrets(args: string): { shown: string; secrets: string[] } {
  splitWords(args, "sub_command_args"); // refuses what has no words
  const secrets: string[] = [];
  let shown = "";
  let kept = 0;
  let isValue = false;
  for (const { start, end } of wordSpans(args)) {
    const raw = args.slice(start, end);
    const [word = ""] = splitWords(raw, "sub_command_args");
    const isSecretOption: boolean = !isValue && optionOf(word) === SECRET_OPTION;
    const equals: number = isSecretOption ? word.indexOf("=") : -1;
    if (isValue || equals !== -1) {
      secrets.push(isValue ? word : word.slice(equals + 1));
      shown += args.slice(kept, start) + (isValue ? secretMask : `${word.slice(0, equals)}=${secretMask}`);
      kept = end;
    }
    isValue = isSecretOption && equals === -1;
  }
  return { shown: shown + args.slice(kept), secrets };
}
