import { invalid } from "../../lib/fault.ts";
import { splitWords } from "../../lib/shell-words.ts";
import { quoted } from "./setting-values.ts";

/** The options that properties give the driver's JVM, checked. `field` names where they come from. */
export function javaOptionsOf(properties: Readonly<Record<string, string>>, field: string): string[] {
  const { "spark.driver.defaultJavaOptions": common, "spark.driver.extraJavaOptions": extra } = properties;
  return [...javaOptions(common, field), ...javaOptions(extra, field)];
}

/**
 * Options that change how much memory a JVM takes. The node counts the heap that `--driver-memory` names, and Java's own
 * limits would come after ours on the command line and win. `-mx` and `-ms` are earlier spellings that Java still takes.
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

/** They stand before the main class on Java's command line: none may take its place, or that of the class path. */
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

/** Without its value, for messages. */
function nameOf(word: string): string {
  const [name = ""] = /^(-Xm[nsx]|-m[sx]|[^=]*)/.exec(word) ?? [];
  return name.slice(0, 100);
}
