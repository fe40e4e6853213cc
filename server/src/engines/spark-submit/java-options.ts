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
