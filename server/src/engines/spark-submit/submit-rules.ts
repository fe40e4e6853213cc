import { invalid } from "../../lib/fault.ts";
import { checkDebuggerPorts } from "./debugger-ports.ts";
import { javaOptionsOf } from "./java-options.ts";
import { parseMemoryMiB } from "./memory-size.ts";
import { isServerOwned, isProtected, refusalOf } from "./setting-rules.ts";
import { checkValue, quoted } from "./setting-values.ts";
import { propertiesOf, readSubmitOptions, settingOf, wordsOf, type SubmitOptions } from "./submit-options.ts";

/**
 * Options that were parsed and are allowed. The same rules apply when a command is submitted and when its driver's
 * command line is built, so the two cannot disagree. `given` has the options that are passed on to Spark.
 */
export interface CheckedOptions extends SubmitOptions, CheckedProperties {
  /** The words of `given`. */
  readonly words: readonly string[];
  readonly properties: ReadonlyMap<string, string>;
  /** Options and properties that were removed because the server decides them; each is listed once. */
  readonly ignored: readonly string[];
}

/** The settings of the driver's JVM in allowed properties. */
export interface CheckedProperties {
  readonly javaOptions: readonly string[];
  readonly classPath: readonly string[];
  /** Undefined: the properties do not set it. */
  readonly memoryMiB: number | undefined;
}

export interface CheckedPlace {
  /** The field that the words come from, for messages. */
  readonly field: string;
  /** Whether tasks run in the driver's own JVM. This affects which options are removed, never which are refused. */
  readonly runsHere?: boolean;
}

/** `arguments` of a program: options only. */
export function checkArguments(words: readonly string[], place: CheckedPlace): CheckedOptions {
  const checked = check(words, place);
  const [stray] = checked.rest;
  if (stray !== undefined) {
    throw invalid(place.field, `has ${quoted(stray)}, which is neither an option of spark-submit nor the value of one`);
  }
  return checked;
}

/** A full command line; the word `spark-submit` in front may be left out. */
export function checkCommandLine(words: readonly string[], place: CheckedPlace): CheckedOptions {
  const [first = ""] = words;
  const checked = check(SPARK_SUBMIT.test(first) ? words.slice(1) : words, place);
  const [application, ...others] = checked.rest;
  if (application === undefined) throw invalid(place.field, "names no program to run");
  const intended = others.find((word) => SPARK_SUBMIT.test(word) || APPLICATION.test(word));
  if (NO_APPLICATION.test(application) && intended !== undefined) {
    throw invalid(place.field, `has ${quoted(application)} before ${quoted(intended)}: only options are allowed there`);
  }
  return checked;
}

const SPARK_SUBMIT = /(^|\/)spark-submit$/;
const APPLICATION = /\.(py|jar|R)$/i;
/** Matches a word such as `sudo`, half of a value whose quotes are missing, or a shell variable assignment. */
const NO_APPLICATION = /^((?!spark-internal$)[\w-]+|[A-Za-z_]\w*=.*)$/s;

function check(words: readonly string[], { field, runsHere = true }: CheckedPlace): CheckedOptions {
  const { given: all, rest } = readSubmitOptions(words, field);
  const ignored = new Set<string>();
  const given = all.filter((option) => {
    const { name, value } = settingOf(option);
    const reason = refusalOf(name);
    if (reason !== undefined)
      throw invalid(field, `may not ${name.startsWith("-") ? "have" : "set"} ${name}: ${reason}`);
    if (!isServerOwned(name, value, runsHere)) return true;
    ignored.add(name);
    return false;
  });
  for (const { name, value } of given.map(settingOf)) checkValue(name, value, field);
  const properties = propertiesOf(given);
  const ofJvm = checkedProperties(properties, field);
  for (const word of ofJvm.javaOptions) checkSystemProperty(word, field);
  return { given, rest, ...ofJvm, words: wordsOf(given), properties, ignored: [...ignored] };
}

/** Spark also reads its settings from Java's system properties. */
function checkSystemProperty(word: string, field: string): void {
  const [, name = ""] = /^-D(spark\.[^=]*)/.exec(word) ?? [];
  const reason = refusalOf(name);
  if (reason !== undefined) throw invalid(field, `may not have the Java option -D${name}: ${reason}`);
}

/** Checks the properties of a stored configuration. `field` names the configuration; the message names the key. */
export function checkProperties(properties: ReadonlyMap<string, string>, field: string): CheckedProperties {
  for (const [key, value] of properties) {
    const reason = isProtected(key) ? "the server sets it" : refusalOf(key);
    if (reason !== undefined) throw invalid(field, `may not set ${key}: ${reason}`);
    checkValue(key, value, field);
  }
  return checkedProperties(properties, field);
}

function checkedProperties(properties: ReadonlyMap<string, string>, field: string): CheckedProperties {
  checkDebuggerPorts(properties, field);
  const memory = properties.get("spark.driver.memory");
  return {
    javaOptions: javaOptionsOf(Object.fromEntries(properties), field),
    classPath: properties.get("spark.driver.extraClassPath")?.split(":").filter(Boolean) ?? [],
    memoryMiB: memory === undefined ? undefined : parseMemoryMiB(memory, field),
  };
}
