import { Command } from "commander";
import { mintToken, tokenSha256 } from "../access/token.ts";
import { setFeatures } from "../accounts/set-features.ts";
import { readFeatures } from "../accounts/store/features.ts";
import { Fault } from "../lib/fault.ts";
import { jsonOption, parseEmail, parseHours, parseId } from "./arguments.ts";
import { printObject, type Cli, type OutputOptions } from "./cli.ts";
import { requireAccount, requireFirstAccount, withSession, type Session } from "./session.ts";
import { insertPassingToken, listAdmins, replaceToken, sendAudit, type Admin } from "./store.ts";

interface Options extends OutputOptions {
  account?: number;
  email?: string;
  hours?: number;
  disableWhitelist?: true;
}

/**
 * The way back in when the token is lost: a new one for a system-admin, by whoever holds the machine. With `--hours`
 * it stands beside the member's own token and ends by itself; without, it takes that one's place. A lost address must
 * not lock an account out for ever either, so `--disable-whitelist` turns the enforcement off, and only on request.
 */
export function breakGlassTokenCommand(cli: Cli): Command {
  return new Command("break-glass-token")
    .description("make a new token for a system-admin")
    .option("--account <id>", "of this account (default: the first)", parseId)
    .option("--email <email>", "for this system-admin (default: the first operator, or else the oldest)", parseEmail)
    .option("--hours <n>", "beside the present token and for so long; without it the new token replaces it", parseHours)
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
        cli.note(`The token is shown this once. ${lifetime(options)}`);
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
    `No active system-admin of account ${accountId} is ${email ?? "there"}. There are: ${there}.`,
  );
}

async function store({ db }: Session, accountId: number, admin: Admin, token: string, options: Options): Promise<void> {
  await db.asSystem(async (tx) => {
    const sha256 = tokenSha256(token);
    if (options.hours === undefined) await replaceToken(tx, admin.membershipId, sha256);
    else await insertPassingToken(tx, admin.membershipId, sha256, options.hours);
    sendAudit(tx, accountId, "break_glass_token", `user/${admin.email}`);
    if (options.disableWhitelist !== true) return;
    await setFeatures(tx, accountId, { ip_whitelisting: false }, null);
    sendAudit(tx, accountId, "account_features_edit", `account/${accountId}/ip_whitelisting/off`);
  });
}

function lifetime({ hours }: Options): string {
  return hours === undefined ? "It replaces the one before." : `It ends in ${hours} hours; the one before stays.`;
}
