import { Argument, Command } from "commander";
import { featureSwitches, setFeatures } from "../accounts/set-features.ts";
import { lockFeatures, readFeatures } from "../accounts/store/features.ts";
import type { Tx } from "../db/database.ts";
import { Fault } from "../lib/fault.ts";
import type { Feature } from "../lib/features.ts";
import { jsonOption, parseFeature, parseId } from "./arguments.ts";
import { printObject, type Cli, type OutputOptions } from "./cli.ts";
import { printable } from "./format-table.ts";
import { requireAccount, withSession } from "./session.ts";
import { listLockedOut, sendAudit } from "./store.ts";

export function featuresCommand(cli: Cli): Command {
  return new Command("features")
    .description("show which features of an account are enabled")
    .argument("<account>", "the account's id", parseId)
    .addOption(jsonOption())
    .action((accountId: number, options: OutputOptions) =>
      withSession(cli, async (session) => {
        await requireAccount(session, accountId);
        printObject(cli, options, onOff(featureSwitches(await readFeatures(session.db.system, accountId)), options));
      }),
    );
}

interface FeatureSetOptions extends OutputOptions {
  yes?: true;
}

/** The rules of the API apply here, too: a change that would lock out all users is refused. */
export function featureSetCommand(cli: Cli): Command {
  return new Command("feature-set")
    .description("enable or disable a feature of an account")
    .argument("<account>", "the account's id", parseId)
    .argument("<feature>", "the feature's name", parseFeature)
    .addArgument(new Argument("<switch>").choices(["on", "off"]))
    .option("--yes", "enable ip_whitelisting although the last address of some members is not on the list")
    .addOption(jsonOption())
    .action((accountId: number, feature: Feature, position: "on" | "off", options: FeatureSetOptions) =>
      withSession(cli, async (session) => {
        await requireAccount(session, accountId);
        const switches = await session.db.asSystem(async (tx) => {
          const wasOn = (await lockFeatures(tx, accountId)).includes(feature);
          const after = await setFeatures(tx, accountId, { [feature]: position === "on" }, null);
          if (feature === "ip_whitelisting" && position === "on" && !wasOn)
            await checkLockOut(cli, tx, accountId, options);
          sendAudit(tx, accountId, "account_features_edit", `account/${accountId}/${feature}/${position}`);
          return after;
        });
        printObject(cli, options, onOff(switches, options));
      }),
    );
}

const NAMED_MEMBERS = 20;

/** The transaction holds the lock of the account and its whitelist. */
async function checkLockOut(cli: Cli, tx: Tx, accountId: number, { yes }: FeatureSetOptions): Promise<void> {
  const { first, count } = await listLockedOut(tx, accountId, NAMED_MEMBERS);
  if (count === 0) return;
  const lines = first.map(({ email, address }) => `  ${printable(email)} (last address ${address ?? "unknown"})`);
  if (count > first.length) lines.push(`  and ${count - first.length} more`);
  const who = [`These members of account ${accountId} may lose access:`, ...lines].join("\n");
  if (yes === true) return cli.note(who);
  throw new Fault(
    "conflict",
    `${who}\nNothing was changed. Whitelist their addresses, or add --yes to enable it anyway.`,
  );
}

function onOff(switches: Readonly<Record<Feature, boolean>>, { json }: OutputOptions): Record<string, unknown> {
  if (json === true) return switches;
  return Object.fromEntries(Object.entries(switches).map(([name, on]) => [name, on ? "on" : "off"]));
}
