import { invalid } from "../../lib/fault.ts";
import { splitWords } from "../../lib/shell-words.ts";

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
const javaOptions =
  /^spark\.(driver|executor)\.(defaultJavaOptions|extraJavaOptions)$|^spark\.yarn\.am\.extraJavaOptions$/;
/** Properties that set a variable which Java, or a script that starts it, reads options from. */
const variables =
  /^spark\.(executorEnv|yarn\.appMasterEnv|kubernetes\.driverEnv)\.(_JAVA_OPTIONS|JAVA_TOOL_OPTIONS|JDK_JAVA_OPTIONS|\w*(JAVA|SPARK)\w*_OPTS)$/;

/** `field` is the source of the properties; the message also names the property. */
export function checkDebuggerPorts(properties: ReadonlyMap<string, string>, field: string): void {
  for (const [name, value] of properties) {
    if (!javaOptions.test(name) && !variables.test(name)) continue;
    for (const word of wordsOf(value)) {
      checkWord(word, name, field);
      checkSystemProperty(word, field);
    }
  }
}

/** Spark also takes settings from the driver's system properties, such as the options of executors. */
function checkSystemProperty(word: string, field: string): void {
  const [, name = "", value = ""] = /^-D(spark\.[^=]+)=(.*)$/s.exec(word) ?? [];
  if (!javaOptions.test(name) && !variables.test(name)) return;
  for (const inner of wordsOf(value)) checkWord(inner, name, field);
}

function checkWord(word: string, name: string, field: string): void {
  if (portOptions.some((option) => option.test(word))) {
    const shown = /^-\w+(:\w+)?[\w.]*/.exec(word)?.[0] ?? word;
    throw invalid(
      field,
      `may not have ${shown} in ${name}: programs of other accounts could connect to the port of a debugger or of ` +
        "remote management and run code with this account's keys",
    );
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
