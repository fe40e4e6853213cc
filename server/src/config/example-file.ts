import { describeDefault, type DerivedSetting, type FixedSetting } from "./setting.ts";
import { settingList } from "./settings.ts";

const head = `# Settings of Headgate. Copy this file, remove the # from the settings you change, and set HEADGATE_CONFIG to its path.
# KEY=value lines; a value may be quoted, and an empty one counts as not set. The environment overrides the file.
# This file is generated from server/src/config/*-settings.ts.
`;

/** The text of `headgate.env.example`: each setting commented out with its default. A test compares the file. */
export function exampleFile(): string {
  return [head, ...settingList.map(entry)].join("\n");
}

function entry(setting: FixedSetting<unknown> | DerivedSetting<unknown>): string {
  const lines = [...wrap(setting.description), ...wrap(`Allowed: ${setting.allowed}.`)];
  if ("derived" in setting) lines.push(...wrap(`Default: ${describeDefault(setting)}.`));
  const value = "default" in setting ? setting.default : "";
  return [...lines.map((line) => `# ${line}`), `#${setting.name}=${value}`, ""].join("\n");
}

function wrap(text: string): string[] {
  return text.match(/\S.{0,115}(?=\s|$)/g) ?? [];
}
