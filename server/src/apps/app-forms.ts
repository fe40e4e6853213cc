/**
 * Apps by version. Headgate's own form is v2. In v1.2, clients of the original interface read an app in an envelope, with
 * its configuration as text, and send the configuration as an object, as text or as an array of objects.
 */
import { Type, type Static } from "typebox";
import type { Version } from "../http/endpoint.ts";
import { IgnoredFields } from "../http/ignored-fields.ts";
import type { ListForm, VersionForm } from "../http/version-form.ts";
import { invalid } from "../lib/fault.ts";
import { isRecord } from "../lib/is-record.ts";
import { App, AppBody } from "./app.ts";

type AppReply = Static<typeof App>;

const OldApp = Type.Object(
  { ...App.properties, config: Type.String({ description: "A JSON object as text" }) },
  { title: "AppV1_2" },
);
const Envelope = Type.Object({ app: OldApp });
const EnvelopeWithWarnings = Type.Object({
  app: OldApp,
  warnings: Type.Optional(Type.Array(Type.String(), { description: "What the body asks for and was ignored" })),
});

function oldApp(app: AppReply): Static<typeof OldApp> {
  return { ...app, config: JSON.stringify(app.config) };
}

/** For operations that reply with an app. */
export const APP_IN_ENVELOPE: Partial<Record<Version, VersionForm<AppReply>>> = {
  "v1.2": { reply: { schema: Envelope, write: (app) => ({ app: oldApp(app) }) } },
};

/** `[{"id": 5, …}, …]` */
export const APPS_AS_ARRAY: ListForm<{ apps: readonly AppReply[] }> = {
  entry: OldApp,
  entries: ({ apps }) => apps.map((app) => ({ id: app.id, shown: oldApp(app) })),
};

export const CREATE_FORMS: Partial<Record<Version, VersionForm<AppReply>>> = {
  "v1.2": {
    description: "`config` may also be the text of a JSON object, or an array of objects.",
    body: {
      schema: Type.Object({
        ...AppBody.properties,
        config: Type.Optional(
          Type.Unsafe<unknown>({
            anyOf: [AppBody.properties.config, { type: "string" }, { type: "array", items: { type: "object" } }],
          }),
        ),
      }),
      read: ({ config, ...sent }) => ({
        fields: config === undefined || config === null ? sent : { ...sent, config: parsedConfig(config) },
        warnings: ignoredIn(sent).warnings(() => "apps have no such field"),
      }),
    },
    reply: {
      schema: EnvelopeWithWarnings,
      write: (app, warnings) => ({ app: oldApp(app), ...(warnings.length === 0 ? {} : { warnings }) }),
    },
  },
};

/** The fields that an app does not have. Those of replies may be sent back. */
function ignoredIn(sent: Readonly<Record<string, unknown>>): IgnoredFields {
  const ignored = new IgnoredFields();
  for (const name of Object.keys(sent)) if (!KNOWN.has(name)) ignored.add([], name, sent[name]);
  return ignored;
}

const KNOWN = new Set([...Object.keys(AppBody.properties), ...Object.keys(App.properties), "warnings"]);

const RULE = "must be an object, an array of objects, or JSON of one of them as text";

/** The properties as one object; null is the same as absent. What it does not recognise is refused by the schema of the body. */
function parsedConfig(config: unknown): unknown {
  const value = typeof config === "string" ? parsedText(config) : config;
  if (!Array.isArray(value)) return value;
  const merged = new Map<string, unknown>();
  for (const part of value as unknown[]) {
    if (!isRecord(part)) throw invalid("config", RULE);
    for (const [key, property] of Object.entries(part)) {
      if (property === null) continue;
      if (merged.has(key) && merged.get(key) !== property) {
        throw invalid("config", `must not have two values for ${JSON.stringify(key.slice(0, 255))}`);
      }
      merged.set(key, property);
    }
  }
  return Object.fromEntries(merged);
}

function parsedText(text: string): unknown {
  if (text.trim() === "") return {};
  try {
    return JSON.parse(text);
  } catch {
    throw invalid("config", RULE);
  }
}
