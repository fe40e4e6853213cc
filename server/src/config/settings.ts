import { commandSettings } from "./command-settings.ts";
import { limitSettings } from "./limit-settings.ts";
import { retentionSettings } from "./retention-settings.ts";
import { serverSettings } from "./server-settings.ts";
import type { DerivedSetting, FixedSetting } from "./setting.ts";

/**
 * Every setting of the product as data: the reader, the operator's listing, `headgate.env.example` and the docs are all
 * made from this table. `DATABASE_URL` and `JAVA_HOME` keep the names that other programs give them.
 */
export const settings = { ...serverSettings, ...commandSettings, ...limitSettings, ...retentionSettings } as const;

/** The table as a list, for code that only shows it. */
export const settingList: readonly (FixedSetting<unknown> | DerivedSetting<unknown>)[] = Object.values(settings);
