import { readFileSync } from "node:fs";
import { Command } from "commander";
import { insertTemporaryToken, replaceToken } from "../access/store.ts";
import { mintToken, tokenSha256 } from "../access/token.ts";
import { setFeatures } from "../accounts/set-features.ts";
import { readFeatures } from "../accounts/store/features.ts";
import { adminTokenFile } from "../config.ts";
import { Fault } from "../lib/fault.ts";
import { jsonOption, parseHours, parseId } from "./arguments.ts";
import { printable } from "./format-table.ts";
import { printObject, type Cli, type OutputOptions } from "./cli.ts";
import { requireAccount, requireFirstAccount, withSession, type Session } from "./session.ts";
import { listAdmins, sendAudit, type Admin } from "./store.ts";

interface Options extends OutputOptions {
  account?: number;
  email?: string;
  hours?: number;
  disableWhitelist?: true;
}

/**
 * Creates a new token for a system-admin whose token is lost. With `--hours` it is valid next to the member's own token
 * and expires; without, it replaces it. Because a changed address must not lock out an account forever either,
 * `--disable-whitelist` disables the enforcement on request.
 */
export function breakGlassTokenCommand(cli: Cli): Command {
  return new Command("break-glass-token")
    .description("create a new token for a system-admin")
    .option("--account <id>", "the account (default: the first)", parseId)
    .option("--email <email>", "the system-admin (default: the first operator, or else the oldest system-admin)")
    .option(
      "--hours <n>",
      "keep the current token and let the new one expire after n hours; without it, the new token replaces the current one",
      parseHours,
    )
    .option("--disable-whitelist", "also stop enforcing the account's IP whitelist")
    .addOption(jsonOption())
    .action((options: Options) =>
      withSession(cli, async (session) => {
        const accountId = options.account ?? (await requireFirstAccount(session));
        await requireAccount(session, accountId);
        const admin = await chooseAdmin(session, accountId, options.email);
        const token = mintToken();
        const replaced = await store(session, accountId, admin, token, options);
        printObject(cli, options, { account_id: accountId, email: admin.email, authentication_token: token });
        cli.note(`The token is shown only once. ${lifetime(options)}`);
        const file = adminTokenFile(session.config);
        if (replaced !== undefined && fileHolds(file, replaced)) {
          cli.note(
            `${file} contains the previous token, which is no longer valid: delete the file, or store the new token there.`,
          );
        }
        const features = await readFeatures(session.db.system, accountId);
        if (features.includes("ip_whitelisting")) {
          cli.note("It works from the account's whitelisted addresses only; --disable-whitelist stops enforcing them.");
        }
      }),
    );
}

async function chooseAdmin({ db }: Session, accountId: number, email: string | undefined): Promise<Admin> {
  const admins = await listAdmins(db.system, accountId);
  const admin = email === undefined ? admins[0] : admins.find((one) => one.email.toLowerCase() === email.toLowerCase());
  if (admin !== undefined) return admin;
  const there = admins.map((one) => printable(one.email)).join(", ") || "none";
  throw new Fault(
    "not-found",
    `Account ${accountId} has no active system-admin${email === undefined ? "" : ` ${email}`}. There are: ${there}.`,
  );
}

/** Returns the SHA-256 of the token that the new one replaces, if there is one. */
function store(
  { db }: Session,
  accountId: number,
  admin: Admin,
  token: string,
  options: Options,
): Promise<Buffer | undefined> {
  return db.asSystem(async (tx) => {
    const sha256 = tokenSha256(token);
    let replaced: Buffer | undefined;
    if (options.hours === undefined) replaced = await replaceToken(tx, admin.membershipId, sha256);
    else await insertTemporaryToken(tx, admin.membershipId, sha256, options.hours);
    sendAudit(tx, accountId, "break_glass_token", `user/${admin.email}`);
    if (options.disableWhitelist !== true) return replaced;
    await setFeatures(tx, accountId, { ip_whitelisting: false }, null);
    sendAudit(tx, accountId, "account_features_edit", `account/${accountId}/ip_whitelisting/off`);
    return replaced;
  });
}

/** The command may run on a machine without the file, or as a user who cannot read it. */
function fileHolds(path: string, sha256: Buffer): boolean {
  try {
    return tokenSha256(readFileSync(path, "utf8").trim()).equals(sha256);
  } catch {
    return false;
  }
}

function lifetime({ hours }: Options): string {
  return hours === undefined
    ? "It replaces the user's previous token: update every shell and script that uses that one. " +
        "With --hours <n>, the previous token would have stayed valid."
    : `It expires in ${hours} hours; the previous one stays valid.`;
}
