import { readFileSync, statSync } from "node:fs";
import { Fault } from "../lib/fault.ts";
import { Secret } from "../lib/secret.ts";

/** The whole value of a header, so without spaces. */
const FORM = /^[\x21-\x7e]{32,512}$/;

/** The secret of the proxies, from the file in `HEADGATE_PROXY_SECRET_FILE`; null without a file. */
export function readProxySecret(file: string | null): Secret | null {
  if (file === null) return null;
  if ((modeOf(file) & 0o007) !== 0) throw refused(`other users can read ${file}: run chmod o= ${file}`);
  const text = readFileSync(file, "utf8").trim();
  if (FORM.test(text)) return new Secret(text);
  throw refused(
    `${file} must contain 32 to 512 printable ASCII characters without spaces: run openssl rand -hex 32 >${file}`,
  );
}

function modeOf(file: string): number {
  try {
    return statSync(file).mode;
  } catch (cause) {
    throw refused(`${file} cannot be read (${cause instanceof Error ? cause.message : String(cause)})`, cause);
  }
}

function refused(why: string, cause?: unknown): Fault {
  return new Fault("invalid", `HEADGATE_PROXY_SECRET_FILE: ${why}`, { cause });
}
