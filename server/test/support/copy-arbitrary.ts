import * as fc from "fast-check";
import { quoteWord, splitWords } from "../../src/lib/shell-words.ts";

/** A submission of a copy that contains a secret, written in one of many ways. */
export interface CopyWithSecret {
  body: { sub_command_args: string; macros?: unknown; src?: string; encryptionKey?: string };
  /** The parts of the secret that no encoding changes. */
  parts: string[];
  /** The arguments with macros filled in. */
  filled: string;
}

const part = fc.stringMatching(/^[A-Za-z0-9]{12}$/);
/** No `$`: a name between two of them would be a macro. */
const punctuation = fc.stringMatching(/^[ '"\\/+=@:%&;#-]{0,3}$/);

/** The ways to quote one word. */
const writeWord = fc.constantFrom<(text: string) => string>(
  quoteWord,
  (text) => `"${text.replaceAll(/["\\]/g, String.raw`\$&`)}"`,
  (text) => text.replaceAll(/[^A-Za-z0-9]/g, String.raw`\$&`),
  (text) => `${quoteWord(text.slice(0, 4))}"${text.slice(4).replaceAll(/["\\]/g, String.raw`\$&`)}"`,
);

const secretName = fc.constantFrom(
  "--encryptionKey",
  "-encryptionKey",
  "--EncryptionKEY",
  '--encryption"Key"',
  "'--encryption'Key",
  "-Dfs.s3a.secret.key",
  "-D fs.s3n.awsSecretAccessKey",
  "-D fs.s3a.session.token",
  "-Dfs.s3a.bucket.logs.server-side-encryption.key",
  "-D fs.azure.account.key.acct.blob.core.windows.net",
);

const bySecretOption = fc
  .tuple(part, punctuation, part, punctuation, secretName, fc.constantFrom("=", " "), writeWord)
  .map(([one, before, two, after, name, sign, write]) => {
    const separator = name.startsWith("-D") ? "=" : sign;
    return { parts: [one, two], text: `${name}${separator}${write(`${one}${before}${two}${after}`)}` };
  });

const byAddress = fc
  .tuple(
    part,
    fc.constantFrom("/", "+", "%2F", "%40", "=", ""),
    part,
    fc.constantFrom("--src ", "--dest=", "-fs ", "--s3Endpoint ", "--previousManifest "),
  )
  .map(([one, between, two, option]) => {
    const scheme = option.startsWith("--s3E") ? "https" : "s3n";
    return { parts: [one, two], text: `${option}${scheme}://AKIA:${one}${between}${two}@bucket/x` };
  });

const asWhole = fc.constantFrom<(text: string) => string>(
  (text) => text,
  (text) => text,
  quoteWord,
  (text) => `"${text.replaceAll(/["\\]/g, String.raw`\$&`)}"`,
  (text) => quoteWord(quoteWord(text)),
);

/** Cuts the text at two places and moves the part between them into a macro, unless that leaves a quote open. */
function withMacro(text: string, from: number, to: number, how: number): CopyWithSecret["body"] {
  const [start, end] = [from, to].map((position) => position % (text.length + 1)).toSorted((a, b) => a - b);
  const [value, args] = [text.slice(start, end), `${text.slice(0, start)}$part$${text.slice(end)}`];
  if (value === "" || !isBalanced(args)) return { sub_command_args: text };
  const half = Math.floor(value.length / 2);
  const [left, right] = [JSON.stringify(value.slice(0, half)), JSON.stringify(value.slice(half))];
  const macros = [
    [{ part: JSON.stringify(value) }],
    [{ left }, { unused: "1" }, { part: `left + ${right}` }],
    JSON.stringify([{ left, part: `$left$ + ${right}` }, { more: "part + part" }]),
    [{ part: `[${left}, ${right}].join("")` }],
  ][how];
  return { sub_command_args: args, macros };
}

function isBalanced(text: string): boolean {
  try {
    return splitWords(text, "").length > 0;
  } catch {
    return false;
  }
}

const inArguments = fc
  .tuple(fc.oneof(bySecretOption, byAddress), asWhole, fc.nat(), fc.nat(), fc.integer({ min: -1, max: 3 }))
  .map(([{ parts, text }, quote, from, to, how]): CopyWithSecret => {
    const filled = quote(`-Dmapreduce.job.name=copy ${text} --srcPattern '.*' --targetSize 5`);
    return { parts, filled, body: how === -1 ? { sub_command_args: filled } : withMacro(filled, from, to, how) };
  });

const inField = fc.tuple(part, punctuation, part).map(([one, between, two]): CopyWithSecret => {
  const encryptionKey = `${one}${between}${two}`;
  const filled = `--src a ${quoteWord("--encryptionKey")} ${quoteWord(encryptionKey)}`;
  return { parts: [one, two], filled, body: { sub_command_args: "--src a", encryptionKey } };
});

export const copyWithSecret: fc.Arbitrary<CopyWithSecret> = fc.oneof({ arbitrary: inArguments, weight: 5 }, inField);
