import { readFileSync, statSync } from "node:fs";
import { Fault } from "../lib/fault.ts";
import { Secret } from "../lib/secret.ts";

/** The whole value of a header, so without spaces. */
const FORM = /^[\x21-\x7e]{32,512}$/;

/** The secret of the proxies, from the file in `HEADGATE_PROXY_SECRET_FILE`; null without a file. */
export function readProxySecret(file: string | null): Secret | null {
  if (file === null) return null;
  const { mode, text } = read(file);
  if ((mode & 0o007) !== 0) throw refused(`other users can read ${file}: run chmod o= ${file}`);
  if (FORM.test(text)) return new Secret(text);
  throw refused(
    `${file} must contain 32 to 512 printable ASCII characters without spaces: run openssl rand -hex 32 >${file}`,
  );
}

function read(file: string): { mode: number; text: string } {
  try {
    return { mode: statSync(file).mode, text: readFileSync(file, "utf8").trim() };
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw refused(
      `${file} cannot be read (${why}): create it with openssl rand -hex 32 >${file}, and give it to the group of ` +
        "Headgate's user with mode 0640",
      cause,
    );
  }
}

function refused(why: string, cause?: unknown): Fault {
  return new Fault("invalid", `HEADGATE_PROXY_SECRET_FILE: ${why}`, { cause });
}
