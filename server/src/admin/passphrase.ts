import { readFileSync } from "node:fs";
import { settings } from "../config/settings.ts";
import { Fault } from "../lib/fault.ts";
import type { Secret } from "../lib/secret.ts";
import { askSecretly, isTerminal } from "./prompt.ts";

export interface PassphraseSources {
  /** `--passphrase-file` */
  file: string | undefined;
  /** HEADGATE_PASSPHRASE */
  setting: Secret | null;
  /** A new one is typed twice: a slip would make the export worthless. */
  isNew: boolean;
}

/** Never from the command line: every user of the machine could read it there. */
export async function getPassphrase({ file, setting, isNew }: PassphraseSources): Promise<Secret> {
  if (file !== undefined) return checked(readFile(file), `The passphrase in ${file}`);
  if (setting !== null) return setting;
  if (!isTerminal()) {
    throw new Fault("invalid", "A passphrase is needed: give --passphrase-file, or set HEADGATE_PASSPHRASE.");
  }
  const passphrase = checked(await askSecretly("Passphrase: "), "The passphrase");
  if (isNew && (await askSecretly("Again: ")) !== passphrase.reveal()) {
    throw new Fault("invalid", "The two passphrases differ: nothing was written.");
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
