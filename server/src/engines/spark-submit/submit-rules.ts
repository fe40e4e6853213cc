import { invalid } from "../../lib/fault.ts";
import { splitWords } from "../../lib/shell-words.ts";
import { parseMemoryMiB } from "./memory-size.ts";
import { propertiesOf, readSubmitOptions, type SubmitOptions } from "./submit-options.ts";

/** Options that are read and found allowed. */
export interface CheckedOptions extends SubmitOptions, CheckedProperties {
  readonly words: readonly string[];
  readonly properties: ReadonlyMap<string, string>;
}

/** What allowed properties say of the driver's JVM. */
export interface CheckedProperties {
  readonly javaOptions: readonly string[];
  readonly classPath: readonly string[];
  /** Undefined when they do not say. */
  readonly memoryMiB: number | undefined;
}

/** `arguments` of a program: options only. */
export function checkArguments(words: readonly string[], field: string): CheckedOptions {
  const checked = check(words, field);
  const [stray] = checked.rest;
  if (stray !== undefined) {
    throw invalid(field, `has ${JSON.stringify(stray)}, which is no option of spark-submit nor the value of one`);
  }
  return checked;
}

/** A full command line; the word `spark-submit` in front may be left out. */
export function checkCommandLine(words: readonly string[], field: string): CheckedOptions {
  const [first = ""] = words;
  const checked = check(/(^|\/)spark-submit$/.test(first) ? words.slice(1) : words, field);
  if (checked.rest.length === 0) throw invalid(field, "names no program to run");
  return checked;
}

function check(words: readonly string[], field: string): CheckedOptions {
  const options = readSubmitOptions(words, field);
  for (const { name } of options.given) {
    const reason = refusedOptions[name];
    if (reason !== undefined) throw invalid(field, `may not have ${name}: ${reason}`);
  }
  const properties = propertiesOf(options.given, field);
  return {
    ...options,
    ...checkProperties(properties, field),
    words: words.slice(0, words.length - options.rest.length),
    properties,
  };
}

/** Properties from wherever a tenant may set some: `field` says where, and the message names the key. */
export function checkProperties(properties: ReadonlyMap<string, string>, field: string): CheckedProperties {
  for (const [key, value] of properties) checkProperty(key, value, field);
  const memory = properties.get("spark.driver.memory");
  return {
    javaOptions: javaOptionsOf(Object.fromEntries(properties), field),
    classPath: properties.get("spark.driver.extraClassPath")?.split(":").filter(Boolean) ?? [],
    memoryMiB: memory === undefined ? undefined : parseMemoryMiB(memory, field),
  };
}

const notARun = "it does not run a program";

const refusedOptions: Readonly<Record<string, string>> = {
  "--help": notARun,
  "--kill": notARun,
  "--load-spark-defaults": "the server gives the properties; use --conf",
  "--properties-file": "the server gives the properties; use --conf",
  "--status": notARun,
  "--supervise": "use retry",
  "--usage-error": notARun,
  "--version": notARun,
};

/** Isolation, the ports and what progress is read from. A trailing dot stands for all below it. */
const protectedProperties = [
  "spark.app.id",
  "spark.authenticate",
  "spark.authenticate.",
  "spark.blockManager.port",
  "spark.driver.bindAddress",
  "spark.driver.blockManager.port",
  "spark.driver.host",
  "spark.driver.port",
  "spark.eventLog.",
  "spark.headgate.",
  "spark.io.encryption.",
  "spark.log.callerContext",
  "spark.network.crypto.",
  "spark.test.appId",
  "spark.ui.",
  "spark.yarn.tags",
];

export function isProtected(key: string): boolean {
  return protectedProperties.some((name) => (name.endsWith(".") ? key.startsWith(name) : key === name));
}

function checkProperty(key: string, value: string, field: string): void {
  if (isProtected(key)) throw invalid(field, `may not set ${key}: the server sets it`);
  if (key === "spark.submit.deployMode" && value !== "client") {
    throw invalid(field, "may not set the deploy mode: the cluster's label decides where a program runs");
  }
  if (key === "spark.remote" || (key === "spark.master" && !value.startsWith("local"))) {
    throw invalid(field, `may not set ${key}: the cluster's label decides where a program runs`);
  }
}

export function javaOptionsOf(properties: Readonly<Record<string, string>>, field: string): string[] {
  const { "spark.driver.defaultJavaOptions": common, "spark.driver.extraJavaOptions": extra } = properties;
  return [...javaOptions(common, field), ...javaOptions(extra, field)];
}

/** They stand before the main class on Java's command line: none may take its place, or that of the class path. */
function javaOptions(text: string | undefined, field: string): string[] {
  const words = splitWords(text ?? "", field);
  for (const word of words) {
    if (!word.startsWith("-"))
      throw invalid(field, `has the Java option ${JSON.stringify(word)}; write it as -name=value`);
    if (word.startsWith("-Xmx")) throw invalid(field, "may not have -Xmx: use --driver-memory");
    if (/^(-cp|-classpath|--class-path.*|-jar|-m|--module|-p|--module-path|--source)$/.test(word)) {
      throw invalid(field, `may not have the Java option ${word}: use --driver-class-path or --jars`);
    }
  }
  return words;
}
