import { Fault } from "../../../lib/fault.ts";
import { splitWords } from "../../../lib/shell-words.ts";
import { CopyArgumentError } from "./copy-argument-error.ts";

export const valueOptions = [
  "src",
  "dest",
  "srcPrefixesFile",
  "srcPattern",
  "groupBy",
  "targetSize",
  "outputCodec",
  "s3SSEAlgorithm",
  "encryptionKey",
  "storageClass",
  "multipartUploadChunkSize",
  "filesPerMapper",
  "startingIndex",
  "previousManifest",
  "requirePreviousManifest",
  "s3Endpoint",
  "srcS3Endpoint",
  "tmpDir",
] as const;
export type ValueOption = (typeof valueOptions)[number];

export const flagOptions = [
  "s3ServerSideEncryption",
  "deleteOnSuccess",
  "disableMultipartUpload",
  "numberFiles",
  "copyFromManifest",
  "appendToLastFile",
] as const;
export type FlagOption = (typeof flagOptions)[number];

/** Options of every Hadoop program; each has a value. `-D` is treated separately. */
const genericOptions = new Set(["conf", "fs", "jt", "files", "libjars", "archives", "tokenCacheFile"]);

/** The options as they were written. The last one counts if an option is repeated. */
export interface GivenOptions {
  readonly values: ReadonlyMap<ValueOption, string>;
  readonly flags: ReadonlySet<FlagOption>;
  /** The empty string: the option was given without a name. */
  readonly outputManifest: string | null;
  /** `-D` properties, in order. The value is null if there is no `=`. */
  readonly properties: readonly (readonly [name: string, value: string | null])[];
  /** Generic options without an effect. */
  readonly ignored: readonly string[];
}

const values: ReadonlySet<string> = new Set(valueOptions);
const flags: ReadonlySet<string> = new Set(flagOptions);
const OPTION = /^--?([A-Za-z][A-Za-z0-9]*)(?:=(.*))?$/s;
/** Arguments that are quoted more often than this are not read. */
const DEEPEST = 8;

/** Reads the words of the command line. Their meaning is checked in parse-options.ts. */
export function readOptionWords(words: readonly string[]): GivenOptions {
  const reader = new WordReader(words);
  while (reader.readOption());
  return reader;
}

class WordReader implements GivenOptions {
  readonly values = new Map<ValueOption, string>();
  readonly flags = new Set<FlagOption>();
  outputManifest: string | null = null;
  readonly properties: [string, string | null][] = [];
  readonly ignored: string[] = [];
  /** The words that are not read yet, last one first. */
  readonly #rest: string[];
  /** The previous option has a secret value, whose quotes may have been forgotten. */
  #isAfterSecret = false;

  constructor(words: readonly string[]) {
    this.#rest = unquoted(words).toReversed();
  }

  /** False: there are no more words. */
  readOption(): boolean {
    const word = this.#rest.pop();
    if (word === undefined) return false;
    if (isQuotedWhole(word)) {
      this.#rest.push(...splitQuoted(word).toReversed());
      return true;
    }
    const [, name = "", value] = OPTION.exec(word) ?? [];
    if (isProperty(word)) this.#readProperty(word.slice("-D".length));
    else if (values.has(name)) this.#readValue(name as ValueOption, word, value); // a member of the set
    else if (flags.has(name)) this.#readFlag(name as FlagOption, value); // a member of the set
    else if (name === "outputManifest") this.#readOutputManifest(value);
    else if (genericOptions.has(name)) this.#ignore(name, word, value);
    else throw new CopyArgumentError(`Argument ${this.#isAfterSecret ? MASK : withoutSecrets(word)} doesn't match.`);
    return true;
  }

  #readValue(name: ValueOption, word: string, value: string | undefined): void {
    this.values.set(name, value ?? this.#next(word, name === "encryptionKey"));
    this.#isAfterSecret = name === "encryptionKey";
  }

  #readFlag(name: FlagOption, value: string | undefined): void {
    if (readBoolean(name, value ?? "true")) this.flags.add(name);
    else this.flags.delete(name);
    this.#isAfterSecret = false;
  }

  #readOutputManifest(value: string | undefined): void {
    const isNamed = value === undefined && this.#rest.at(-1)?.startsWith("-") === false;
    this.outputManifest = (isNamed ? this.#rest.pop() : value) ?? "";
    this.#isAfterSecret = false;
  }

  /** `joined`: what follows `-D` in the same word. */
  #readProperty(joined: string): void {
    const text = joined === "" ? this.#next("-D", true) : joined;
    const equals = text.indexOf("=");
    const name = (equals === -1 ? text : text.slice(0, equals)).trim();
    this.properties.push([name, equals === -1 ? null : text.slice(equals + 1).trim()]);
    this.#isAfterSecret = true; // any property may hold a secret
  }

  #ignore(name: string, word: string, value: string | undefined): void {
    if (value === undefined) this.#next(word, true);
    this.ignored.push(`-${name}`);
    this.#isAfterSecret = true; // their values may be addresses with a password
  }

  #next(option: string, mayBeAnything: boolean): string {
    const next = this.#rest.at(-1);
    if (next === undefined || (!mayBeAnything && isKnownOption(next))) {
      throw new CopyArgumentError(`${option} needs a value.`);
    }
    this.#rest.pop();
    return next;
  }
}

export function readBoolean(option: string, text: string): boolean {
  const lower = text.toLowerCase();
  if (lower === "true" || lower === "false") return lower === "true";
  throw new CopyArgumentError(`--${option} must be true or false.`);
}

function isKnownOption(word: string): boolean {
  const name = OPTION.exec(word)?.[1] ?? "";
  return values.has(name) || flags.has(name) || name === "outputManifest" || isProperty(word);
}

function isProperty(word: string): boolean {
  return word.startsWith("-D");
}

/** Arguments that are quoted as a whole are one word. No copy has only one argument. */
function unquoted(words: readonly string[], depth = 0): readonly string[] {
  const [only = ""] = words;
  if (words.length !== 1 || !/\s/.test(only) || depth === DEEPEST) return words;
  return unquoted(splitQuoted(only), depth + 1);
}

/** Whether a word in place of an option has several options, which are quoted as a whole before other arguments. */
function isQuotedWhole(word: string): boolean {
  if (/^\s*--?[A-Za-z][A-Za-z0-9]*\s/.test(word)) return true;
  const inner = /^\s*--?[A-Za-z][A-Za-z0-9]*=\S*\s+(.*)$/s.exec(word)?.[1] ?? "";
  return inner.split(/\s+/).some(isKnownOption);
}

function splitQuoted(text: string): string[] {
  try {
    return splitWords(text, "The text that is quoted as a whole");
  } catch (error) {
    if (error instanceof Fault) throw new CopyArgumentError(`${error.publicMessage}.`);
    throw error;
  }
}

const MASK = "********";
const SECRET_NAME = /secret|passw|pwd|token|credential|signature|key/i;

/** The word, unless it could contain a credential: then only the name before it. */
function withoutSecrets(word: string): string {
  const [, name = "", rest = ""] = /^([^\s=:]*)(.*)$/s.exec(word) ?? [];
  const isSecret = SECRET_NAME.test(word) || /:.*@|[?&].*=/s.test(word) || /\s/.test(word);
  return isSecret && rest !== "" ? `${name}${rest.charAt(0)}${MASK}` : word;
}
