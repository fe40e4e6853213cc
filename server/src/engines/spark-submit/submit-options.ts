import { invalid } from "../../lib/fault.ts";
import { quoted } from "./setting-values.ts";

/**
 * The options of a spark-submit command line, parsed from its words. Pure; `submit-rules.ts` decides which are allowed.
 */
export interface SubmitOptions {
  readonly given: readonly SubmitOption[];
  /** The program and its arguments, which follow the options. */
  readonly rest: readonly string[];
}

export interface SubmitOption {
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

export function readSubmitOptions(words: readonly string[], field: string): SubmitOptions {
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
export function settingOf({ name, value = "" }: SubmitOption): { name: string; value: string } {
  if (name !== "--conf") return { name, value };
  const [, key = "", text = ""] = PROPERTY.exec(value) ?? [];
  return { name: key.trim(), value: text };
}

export function wordsOf(given: readonly SubmitOption[]): string[] {
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
export function propertiesOf(given: readonly SubmitOption[]): Map<string, string> {
  const byConf = given.filter(({ name }) => name === "--conf").map(settingOf);
  const byOption = given.map(({ name, value = "" }) => ({ name: propertyOf[name] ?? "", value }));
  return new Map([...byConf, ...byOption].filter(({ name }) => name !== "").map(({ name, value }) => [name, value]));
}
