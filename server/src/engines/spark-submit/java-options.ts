import { invalid } from "../../lib/fault.ts";
import { splitWords } from "../../lib/shell-words.ts";
import { quoted } from "./setting-values.ts";

/** The checked Java options of the driver in the properties. `field` is their source. */
export function javaOptionsOf(properties: Readonly<Record<string, string>>, field: string): string[] {
  const { "spark.driver.defaultJavaOptions": common, "spark.driver.extraJavaOptions": extra } = properties;
  return [...javaOptions(common, field), ...javaOptions(extra, field)];
}

/**
 * Options that change the memory of a JVM. The node reserves the heap of `--driver-memory`, and these options would
 * come later on the command line and override it. `-mx` and `-ms` are older spellings that Java still accepts.
 */
const MEMORY_OPTION = new RegExp(
  `^(${[
    "-X?m[sx]\\d.*|-Xm[sx].*|-Xmn.*",
    "-XX:(Max|Min|Initial|SoftMax)HeapSize\\b.*",
    "-XX:(Max|Min|Initial|Default|DefaultMax|DefaultMin|DefaultInitial)RAM(Fraction|Percentage)?\\b.*",
    "-XX:MaxDirectMemorySize\\b.*",
    "-XX:(ErgoHeapSizeLimit|MaxNewSize|NewSize|OldSize)\\b.*",
    "-XX:[+-]AggressiveHeap",
  ].join("|")})$`,
  "s",
);

const CLASS_PATH = /^(-cp|-classpath|--class-path.*|-jar|-m|--module|-p|--module-path|--source)$/;

/** The options precede the main class on Java's command line, so none may replace it or the class path. */
function javaOptions(text: string | undefined, field: string): string[] {
  const words = splitWords(text ?? "", field);
  for (const word of words) {
    if (!word.startsWith("-")) throw invalid(field, `has the Java option ${quoted(word)}; write it as -name=value`);
    if (MEMORY_OPTION.test(word)) throw invalid(field, `may not have ${nameOf(word)}: use --driver-memory`);
    if (CLASS_PATH.test(word)) {
      throw invalid(field, `may not have the Java option ${word}: use --driver-class-path or --jars`);
    }
  }
  return words;
}

/** The name without the value, for messages. */
function nameOf(word: string): string {
  const [name = ""] = /^(-Xm[nsx]|-m[sx]|[^=]*)/.exec(word) ?? [];
  return name.slice(0, 100);
}

/**
 * Java options that open a port to a debugger or to remote management. Programs share the network of their machine, and
 * these ports have no authentication: a program of another account could use one to run code with this account's keys.
 * Java agents (`-javaagent`) stay allowed, because profilers and metrics exporters are agents; so does `-Xdebug`, which
 * opens no port by itself. Files of options are refused, because they could contain any of these.
 */
const portOptions = [
  /^-agentlib:jdwp/,
  /^-agentpath:.*jdwp/,
  /^-Xrunjdwp/,
  /^-Dcom\.sun\.management\.(config\.file|jmxremote\.(rmi\.)?port)\b/,
];
const optionsFile = /^(-XX:(Flags|VMOptionsFile)\b|-XX:[+-]ReadVMOptionsFile|@)/;

/** Properties whose value is a text of Java options. */
const optionProperties =
  /^spark\.(driver|executor)\.(defaultJavaOptions|extraJavaOptions)$|^spark\.yarn\.am\.extraJavaOptions$/;
/** Properties that set a variable which Java, or a script that starts it, reads options from. */
const variables =
  /^spark\.(executorEnv|yarn\.appMasterEnv|kubernetes\.driverEnv)\.(_JAVA_OPTIONS|JAVA_TOOL_OPTIONS|JDK_JAVA_OPTIONS|\w*(JAVA|SPARK)\w*_OPTS)$/;

/** `field` is the source of the properties; the message also names the property. */
export function checkDebuggerPorts(properties: ReadonlyMap<string, string>, field: string): void {
  for (const [name, value] of properties) {
    if (!optionProperties.test(name) && !variables.test(name)) continue;
    for (const word of wordsOf(value)) {
      checkWord(word, name, field);
      checkSystemProperty(word, field);
    }
  }
}

/** Spark also takes settings from the driver's system properties, such as the options of executors. */
function checkSystemProperty(word: string, field: string): void {
  const [, name = "", value = ""] = /^-D(spark\.[^=]+)=(.*)$/s.exec(word) ?? [];
  if (!optionProperties.test(name) && !variables.test(name)) return;
  for (const inner of wordsOf(value)) checkWord(inner, name, field);
}

function checkWord(word: string, name: string, field: string): void {
  if (portOptions.some((option) => option.test(word))) {
    const shown = /^-\w+(:\w+)?[\w.]*/.exec(word)?.[0] ?? word;
    const danger =
      "programs of other accounts could connect to the port of a debugger or of remote management and run code with " +
      "this account's keys";
    throw invalid(field, `may not have ${shown} in ${name}: ${danger}`);
  }
  if (optionsFile.test(word)) throw invalid(field, `may not name a file of Java options in ${name}: list the options`);
}

/** A text with unbalanced quotes is split too, so that its options are checked. */
function wordsOf(text: string): string[] {
  try {
    return splitWords(text, "");
  } catch {
    return text.split(/[\s"']+/);
  }
}
