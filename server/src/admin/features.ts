import { Command } from "commander";
import { featureSwitches, setFeatures } from "../accounts/set-features.ts";
import { readFeatures } from "../accounts/store/features.ts";
import type { Feature } from "../lib/features.ts";
import { Argument } from "commander";
import { jsonOption, parseFeature, parseId } from "./arguments.ts";
import { printObject, type Cli, type OutputOptions } from "./cli.ts";
import { requireAccount, withSession } from "./session.ts";
import { sendAudit } from "./store.ts";

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

/** The rules of the API apply here, too: a change that would lock out all users is refused. */
export function featureSetCommand(cli: Cli): Command {
  return new Command("feature-set")
    .description("enable or disable a feature of an account")
    .argument("<account>", "the account's id", parseId)
    .argument("<feature>", "the feature's name", parseFeature)
    .addArgument(new Argument("<switch>").choices(["on", "off"]))
    .addOption(jsonOption())
    .action((accountId: number, feature: Feature, position: "on" | "off", options: OutputOptions) =>
      withSession(cli, async (session) => {
        await requireAccount(session, accountId);
        const switches = await session.db.asSystem(async (tx) => {
          const after = await setFeatures(tx, accountId, { [feature]: position === "on" }, null);
          sendAudit(tx, accountId, "account_features_edit", `account/${accountId}/${feature}/${position}`);
          return after;
        });
        printObject(cli, options, onOff(switches, options));
      }),
    );
}

function onOff(switches: Readonly<Record<Feature, boolean>>, { json }: OutputOptions): Record<string, unknown> {
  if (json === true) return switches;
  return Object.fromEntries(Object.entries(switches).map(([name, on]) => [name, on ? "on" : "off"]));
}
