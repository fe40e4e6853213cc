import { invalid } from "../../lib/fault.ts";
import { checkDebuggerPorts, javaOptionsOf } from "./java-options.ts";
import { parseMemoryMiB, checkValue, quoted } from "./setting-values.ts";
import { isServerOwned, isProtected, refusalOf } from "./setting-rules.ts";

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
interface CheckedProperties {
  readonly javaOptions: readonly string[];
  readonly classPath: readonly string[];
  /** Undefined: the properties do not set it. */
  readonly memoryMiB: number | undefined;
}

export interface CheckContext {
  /** The field that the words come from, for messages. */
  readonly field: string;
  /** Whether tasks run in the driver's own JVM. This affects which options are removed, never which are refused. */
  readonly runsHere?: boolean;
  /** Whether the server sets this property of the cluster. */
  readonly isServerSetting?: ((name: string) => boolean) | undefined;
}

/** `arguments` of a program: options only. */
export function checkArguments(words: readonly string[], context: CheckContext): CheckedOptions {
  const checked = check(words, context);
  const [stray] = checked.rest;
  if (stray !== undefined) {
    throw invalid(
      context.field,
      `has ${quoted(stray)}, which is neither an option of spark-submit nor the value of one`,
    );
  }
  return checked;
}

/** A full command line; the word `spark-submit` in front may be left out. */
export function checkCommandLine(words: readonly string[], context: CheckContext): CheckedOptions {
  const [first = ""] = words;
  const checked = check(SPARK_SUBMIT.test(first) ? words.slice(1) : words, context);
  const [application, ...others] = checked.rest;
  if (application === undefined) throw invalid(context.field, "names no program to run");
  const intended = others.find((word) => SPARK_SUBMIT.test(word) || APPLICATION.test(word));
  if (NO_APPLICATION.test(application) && intended !== undefined) {
    throw invalid(
      context.field,
      `has ${quoted(application)} before ${quoted(intended)}: only options are allowed there`,
    );
  }
  return checked;
}

const SPARK_SUBMIT = /(^|\/)spark-submit$/;
const APPLICATION = /\.(py|jar|R)$/i;
/** Matches a word such as `sudo`, half of a value whose quotes are missing, or a shell variable assignment. */
const NO_APPLICATION = /^((?!spark-internal$)[\w-]+|[A-Za-z_]\w*=.*)$/s;

function check(
  words: readonly string[],
  { field, runsHere = true, isServerSetting = () => false }: CheckContext,
): CheckedOptions {
  const { given: all, rest } = readSubmitOptions(words, field);
  const ignored = new Set<string>();
  const given = all.filter((option) => {
    const { name, value } = settingOf(option);
    const reason = refusalOf(name);
    if (reason !== undefined)
      throw invalid(field, `may not ${name.startsWith("-") ? "have" : "set"} ${name}: ${reason}`);
    if (!isServerOwned(name, value, runsHere) && !isServerSetting(name)) return true;
    ignored.add(name);
    return false;
  });
  for (const { name, value } of given.map(settingOf)) checkValue(name, value, field);
  const properties = propertiesOf(given);
  const ofJvm = checkedProperties(properties, field);
  checkSystemProperties(ofJvm.javaOptions, field, (name) => refusalOf(name) ?? serverSets(name, isServerSetting));
  return { given, rest, ...ofJvm, words: wordsOf(given), properties, ignored: [...ignored] };
}

function serverSets(name: string, isServerSetting: (name: string) => boolean): string | undefined {
  return isServerSetting(name) ? "the server sets it on this cluster" : undefined;
}

/** Spark also reads its settings from Java's system properties. `refusal` says why the setting is not allowed. */
function checkSystemProperties(
  javaOptions: readonly string[],
  field: string,
  refusal: (name: string) => string | undefined,
): void {
  for (const word of javaOptions) {
    const [, name = ""] = /^-D(spark\.[^=]*)/.exec(word) ?? [];
    const reason = refusal(name);
    if (reason !== undefined) throw invalid(field, `may not have the Java option -D${name}: ${reason}`);
  }
}

/** Throws if the Java options of the driver in the properties give a setting of the cluster that the server sets. */
export function checkServerSettings(
  properties: Readonly<Record<string, string>>,
  field: string,
  isServerSetting: (name: string) => boolean,
): void {
  checkSystemProperties(javaOptionsOf(properties, field), field, (name) => serverSets(name, isServerSetting));
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

/** The options of a spark-submit command line, parsed from its words and not yet checked. */
interface SubmitOptions {
  readonly given: readonly SubmitOption[];
  /** The program and its arguments, which follow the options. */
  readonly rest: readonly string[];
}

interface SubmitOption {
  readonly name: string;
  /** Undefined for switches. */
  readonly value: string | undefined;
}

/** As in `SparkSubmitOptionParser` of Spark 4.1. */
const withValue = new Set(
  [
    "--archives --class --conf --deploy-mode --driver-class-path --driver-cores --driver-default-class-path",
    "--driver-java-options --driver-library-path --driver-memory --exclude-packages --executor-cores --executor-memory",
    "--files --jars --keytab --kill --master --name --num-executors --packages --principal --properties-file",
    "--proxy-user --py-files --queue --remote --repositories --status --total-executor-cores",
  ].flatMap((names) => names.split(" ")),
);
const switches = new Set("--help --load-spark-defaults --supervise --usage-error --verbose --version".split(" "));
const shortNames: Readonly<Record<string, string>> = { "-c": "--conf", "-h": "--help", "-v": "--verbose" };

function readSubmitOptions(words: readonly string[], field: string): SubmitOptions {
  const given: SubmitOption[] = [];
  for (let at = 0; at < words.length;) {
    const word = words[at] ?? "";
    if (!word.startsWith("-")) return { given, rest: words.slice(at) };
    const [, long, attached] = /^(--[^=]+)=(.+)$/s.exec(word) ?? [];
    const name = long ?? shortNames[word] ?? word;
    if (switches.has(name)) {
      given.push({ name, value: undefined });
      at += 1;
    } else if (withValue.has(name)) {
      const value = attached ?? words[at + 1];
      if (value === undefined) throw invalid(field, `ends with ${name}, which needs a value`);
      if (name === "--conf") checkProperty(value, field);
      given.push({ name, value });
      at += attached === undefined ? 2 : 1;
    } else {
      throw invalid(field, `has ${quoted(name)}, which is not an option of spark-submit`);
    }
  }
  return { given, rest: [] };
}

const PROPERTY = /^([^=]+)=(.*)$/s;

function checkProperty(text: string, field: string): void {
  if (!PROPERTY.test(text)) throw invalid(field, `has --conf ${quoted(text)}, which is not key=value`);
}

/** The name that the rules use: that of the option or, for `--conf`, that of the property. */
function settingOf({ name, value = "" }: SubmitOption): { name: string; value: string } {
  if (name !== "--conf") return { name, value };
  const [, key = "", text = ""] = PROPERTY.exec(value) ?? [];
  return { name: key.trim(), value: text };
}

function wordsOf(given: readonly SubmitOption[]): string[] {
  return given.flatMap(({ name, value }) => (value === undefined ? [name] : [name, value]));
}

/** Options that are another way to write a property. The option overrides the property. */
const propertyOf: Readonly<Record<string, string>> = {
  "--driver-class-path": "spark.driver.extraClassPath",
  "--driver-java-options": "spark.driver.extraJavaOptions",
  "--driver-library-path": "spark.driver.extraLibraryPath",
  "--driver-memory": "spark.driver.memory",
  "--master": "spark.master",
  "--name": "spark.app.name",
};

/** The properties that the options set. As in Spark, the last of several wins. */
function propertiesOf(given: readonly SubmitOption[]): Map<string, string> {
  const byConf = given.filter(({ name }) => name === "--conf").map(settingOf);
  const byOption = given.map(({ name, value = "" }) => ({ name: propertyOf[name] ?? "", value }));
  return new Map([...byConf, ...byOption].filter(({ name }) => name !== "").map(({ name, value }) => [name, value]));
}
