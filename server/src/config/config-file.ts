export interface ConfigFile {
  readonly values: ReadonlyMap<string, string>;
  /** One text for each wrong line. They never quote the line, which may contain a secret. */
  readonly problems: readonly string[];
}

/**
 * Parses `KEY=value` lines. Empty lines and lines that start with `#` are ignored, and one pair of quotes around a
 * value is removed. Nothing is expanded or unescaped and `#` inside a value is kept, so that passwords need no escaping
 * and systemd's `EnvironmentFile=` can read the same file.
 */
export function parseConfigFile(text: string): ConfigFile {
  const values = new Map<string, string>();
  const problems: string[] = [];
  for (const [index, raw] of text
    .replace(/^\uFEFF/, "")
    .split(/\r?\n/)
    .entries()) {
    const line = raw.trim();
    if (line === "" || line.startsWith("#")) continue;
    const [, key, value] = /^([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*)$/.exec(line) ?? [];
    if (key === undefined || value === undefined) problems.push(`line ${index + 1} is not KEY=value`);
    else if (values.has(key)) problems.push(`line ${index + 1} sets ${key} a second time`);
    else values.set(key, value.replace(/^(["'])(.*)\1$/, "$2"));
  }
  return { values, problems };
}
