import { Command } from "commander";
import { mintToken, tokenSha256 } from "../access/token.ts";
import { setFeatures } from "../accounts/set-features.ts";
import { readFeatures } from "../accounts/store/features.ts";
import { Fault } from "../lib/fault.ts";
import { jsonOption, parseEmail, parseHours, parseId } from "./arguments.ts";
import { printObject, type Cli, type OutputOptions } from "./cli.ts";
import { requireAccount, requireFirstAccount, withSession, type Session } from "./session.ts";
import { insertTemporaryToken, listAdmins, replaceToken, sendAudit, type Admin } from "./store.ts";

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
    .option(
      "--email <email>",
      "the system-admin (default: the first operator, or else the oldest system-admin)",
      parseEmail,
    )
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
        await store(session, accountId, admin, token, options);
        printObject(cli, options, { account_id: accountId, email: admin.email, authentication_token: token });
        cli.note(`The token is shown only once. ${lifetime(options)}`);
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
  const there = admins.map((one) => one.email).join(", ") || "none";
  throw new Fault(
    "not-found",
    `Account ${accountId} has no active system-admin${email === undefined ? "" : ` ${email}`}. There are: ${there}.`,
  );
}

async function store({ db }: Session, accountId: number, admin: Admin, token: string, options: Options): Promise<void> {
  await db.asSystem(async (tx) => {
    const sha256 = tokenSha256(token);
    if (options.hours === undefined) await replaceToken(tx, admin.membershipId, sha256);
    else await insertTemporaryToken(tx, admin.membershipId, sha256, options.hours);
    sendAudit(tx, accountId, "break_glass_token", `user/${admin.email}`);
    if (options.disableWhitelist !== true) return;
    await setFeatures(tx, accountId, { ip_whitelisting: false }, null);
    sendAudit(tx, accountId, "account_features_edit", `account/${accountId}/ip_whitelisting/off`);
  });
}

function lifetime({ hours }: Options): string {
  return hours === undefined
    ? "It replaces the previous one."
    : `It expires in ${hours} hours; the previous one stays valid.`;
}
