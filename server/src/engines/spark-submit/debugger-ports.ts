import { invalid } from "../../lib/fault.ts";
import { splitWords } from "../../lib/shell-words.ts";

/**
 * Java options that open a port to a debugger or to remote management. Programs share the network of their machine, and
 * these ports ask for no secret: a program of another account that reaches one runs code with this account's keys. Java
 * agents (`-javaagent`) stay allowed, because profilers and exporters of metrics are agents; so does `-Xdebug`, which
 * opens nothing by itself. A file of options could hold any of them, so none may be named.
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

/** `field` is where the properties come from; the message names the property as well. */
export function checkDebuggerPorts(properties: ReadonlyMap<string, string>, field: string): void {
  for (const [name, value] of properties) {
    if (!javaOptions.test(name) && !variables.test(name)) continue;
    for (const word of wordsOf(value)) {
      checkWord(word, name, field);
      checkSystemProperty(word, field);
    }
  }
}

/** Spark takes settings from the driver's system properties, too, such as the options of executors. */
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
      `may not have ${shown} in ${name}: through the port of a debugger or of remote management, programs of others ` +
        "could run code with this account's keys",
    );
  }
  if (optionsFile.test(word)) throw invalid(field, `may not name a file of Java options in ${name}: list the options`);
}

/** A text that Spark could not divide either still shows what it has. */
function wordsOf(text: string): string[] {
  try {
    return splitWords(text, "");
  } catch {
    return text.split(/[\s"']+/);
  }
}
