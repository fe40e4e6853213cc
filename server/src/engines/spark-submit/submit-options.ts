import { invalid } from "../../lib/fault.ts";

/** Options as spark-submit takes them, read from words. Pure; what they may say is decided in `submit-rules.ts`. */
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

const withValue = new Set(
  [
    "--archives --class --conf --deploy-mode --driver-class-path --driver-cores --driver-java-options",
    "--driver-library-path --driver-memory --exclude-packages --executor-cores --executor-memory --files --jars",
    "--keytab --kill --master --name --num-executors --packages --principal --properties-file --proxy-user --py-files",
    "--queue --remote --repositories --status --total-executor-cores",
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
    if (switches.has(name) && attached === undefined) {
      given.push({ name, value: undefined });
      at += 1;
    } else if (withValue.has(name)) {
      const value = attached ?? words[at + 1];
      if (value === undefined) throw invalid(field, `ends with ${name}, which needs a value`);
      given.push({ name, value });
      at += attached === undefined ? 2 : 1;
    } else {
      throw invalid(field, `has ${name}, which is no option of spark-submit`);
    }
  }
  return { given, rest: [] };
}

/** Options that are another way to write a property. An option counts more than the property. */
const propertyOf: Readonly<Record<string, string>> = {
  "--deploy-mode": "spark.submit.deployMode",
  "--driver-class-path": "spark.driver.extraClassPath",
  "--driver-java-options": "spark.driver.extraJavaOptions",
  "--driver-library-path": "spark.driver.extraLibraryPath",
  "--driver-memory": "spark.driver.memory",
  "--master": "spark.master",
  "--name": "spark.app.name",
  "--remote": "spark.remote",
};

/** What the options set, by property; of several the last counts, as in Spark. */
export function propertiesOf(given: readonly SubmitOption[], field: string): Map<string, string> {
  const properties = new Map<string, string>();
  for (const { name, value = "" } of given) {
    if (name !== "--conf") continue;
    const [, key, text] = /^([^=]+)=(.*)$/s.exec(value) ?? [];
    if (key === undefined) throw invalid(field, `has --conf ${JSON.stringify(value)}, which is not key=value`);
    properties.set(key.trim(), text ?? "");
  }
  for (const { name, value = "" } of given) {
    const key = propertyOf[name];
    if (key !== undefined) properties.set(key, value);
  }
  return properties;
}
