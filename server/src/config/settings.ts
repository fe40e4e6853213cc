/**
 * Every setting of the product as data. The reader, the operator's listing, `headgate.env.example` and the docs are all
 * generated from this table. `DATABASE_URL` and `JAVA_HOME` have the names that other programs use.
 */
import { commandSettings } from "./command-settings.ts";
import { limitSettings } from "./limit-settings.ts";
import { retentionSettings } from "./retention-settings.ts";
import { serverSettings } from "./server-settings.ts";
import type { DerivedSetting, FixedSetting } from "./setting.ts";

export const settings = { ...serverSettings, ...commandSettings, ...limitSettings, ...retentionSettings } as const;

/** The table as a list, for code that only displays it. */
export const settingList: readonly (FixedSetting<unknown> | DerivedSetting<unknown>)[] = Object.values(settings);
