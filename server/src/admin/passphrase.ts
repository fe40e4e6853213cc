import { readFileSync } from "node:fs";
import { settings } from "../config/settings.ts";
import { Fault } from "../lib/fault.ts";
import type { Secret } from "../lib/secret.ts";
import { promptSecret, isTerminal } from "./prompt.ts";

export interface PassphraseSources {
  /** `--passphrase-file` */
  file: string | undefined;
  /** HEADGATE_PASSPHRASE */
  setting: Secret | null;
  /** A new passphrase is typed twice, because a typing error would make the export worthless. */
  isNew: boolean;
}

/** Never read from the command line, which every user of the machine can see. */
export async function getPassphrase({ file, setting, isNew }: PassphraseSources): Promise<Secret> {
  if (file !== undefined) return checked(readFile(file), `The passphrase in ${file}`);
  if (setting !== null) return setting;
  if (!isTerminal()) {
    throw new Fault("invalid", "A passphrase is needed: use --passphrase-file, or set HEADGATE_PASSPHRASE.");
  }
  const passphrase = checked(await promptSecret("Passphrase: "), "The passphrase");
  if (isNew && (await promptSecret("Again: ")) !== passphrase.reveal()) {
    throw new Fault("invalid", "The two passphrases differ: nothing was written. Try again.");
  }
  return passphrase;
}

function readFile(file: string): string {
  try {
    return readFileSync(file, "utf8").replace(/\r?\n$/, "");
  } catch (cause) {
    throw new Fault("invalid", `--passphrase-file: ${cause instanceof Error ? cause.message : String(cause)}`, {
      cause,
    });
  }
}

function checked(text: string, what: string): Secret {
  const passphrase = settings.passphrase.parse(text);
  if (passphrase !== undefined) return passphrase;
  throw new Fault("invalid", `${what} must be ${settings.passphrase.allowed}.`);
}
