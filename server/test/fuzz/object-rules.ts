import { among, flag, oneOf, required, text, type Fields } from "./field-rules.ts";
import { none, paging, type OperationRules } from "./operation-input.ts";

const source: Fields = {
  source_type: required(among(["cluster"], ["no-such-value"])),
  source_id: required(among(["@own:source_id"], ["x", "-1"])),
};

const folderName = required(text(255, { bad: ["a/b", "..", "."] }));
const folderType = oneOf("notes");
const folderLocation = among(["Common", "@own:folder"], ["Elsewhere", "Common/..", "Users", [], {}]);

const locationName = text(255, { bad: ["a/b", ".", "..", "a\nb"] });
const location = among(["Common"], ["Elsewhere", "Users/nobody", "Common//x", "", [], {}]);
const paragraphs = among(
  [[], [{ language: "sql", text: "select 1" }]],
  [
    {},
    [{ language: "perl", text: "x" }],
    [{ language: "sql" }],
    Array.from({ length: 2001 }, () => ({ language: "sql", text: "" })),
  ],
);
const note: Fields = { name: locationName, note_type: oneOf("spark"), label: text(255, { mayBeEmpty: true }) };
const file = { nbformat: 4, nbformat_minor: 5, metadata: {}, cells: [] };

/** The operations on policies, folders, notebooks and dashboards. */
export const OBJECT_RULES: readonly OperationRules[] = [
  {
    operationId: "object_policy_set",
    body: {
      ...source,
      policy: required(
        among(
          ["[]", [], '[{"access":"allow"}]', '[{"access":"deny","action":["start","all"]}]'],
          ["x", "{}", "[1]", '[{"access":"maybe"}]', '[{"access":"allow","action":["write"]}]', [1], {}],
        ),
      ),
    },
  },
  { operationId: "object_policy_view", query: source },
  ...none("folder_view"),
  { operationId: "folder_list", query: { ...paging, type: folderType, location: folderLocation } },
  {
    operationId: "folder_create",
    body: { name: folderName, type: required(folderType), location: folderLocation },
  },
  {
    operationId: "folder_rename",
    body: {
      name: folderName,
      type: required(folderType),
      folder_id: required(among(["@own:folder_id"], ["x", "-1", [], {}])),
    },
  },
  {
    operationId: "folder_move",
    body: {
      location: required(among(["@own:folder"], ["Elsewhere", "Common", [], {}])),
      destination_location: required(among(["Common"], ["Elsewhere", "Common/no-such-folder", [], {}])),
      type: required(folderType),
    },
  },
  { operationId: "folder_delete", query: { recursive: flag } },
  {
    operationId: "folder_policy_set",
    body: {
      location: required(folderLocation),
      type: required(folderType),
      policy: required(
        among(
          ["[]", [], '[{"access":"allow"}]', '[{"access":"deny","action":["write","all"]}]'],
          ["x", "{}", "[1]", '[{"access":"maybe"}]', '[{"access":"allow","action":["update"]}]', [1], {}],
        ),
      ),
    },
  },
  { operationId: "folder_policy_view", query: { location: required(folderLocation), type: required(folderType) } },
  {
    operationId: "access_explain",
    query: {
      ...source,
      action: required(among(["read", "update", "terminate", "manage"], ["no-such-value", "write"])),
      user: among(["@own:users"], ["no-such-user", "987654"]),
    },
  },
  ...none("notebook_view", "notebook_delete", "notebook_export"),
  ...none("notebook_dashboard_view", "notebook_dashboard_publish", "notebook_dashboard_delete"),
  { operationId: "notebook_list", query: { ...paging, location } },
  { operationId: "notebook_dashboard_list", query: { ...paging, location } },
  { operationId: "notebook_create", body: { ...note, name: required(locationName), location, paragraphs } },
  {
    operationId: "notebook_edit",
    body: { ...note, paragraphs, updated_at: among([null], ["yesterday", "2026-01-31", [], {}]) },
  },
  { operationId: "notebook_clone", body: { name: locationName, location } },
  { operationId: "notebook_move", body: { location: required(location) } },
  {
    operationId: "notebook_import",
    body: {
      ...note,
      name: required(locationName),
      location,
      notebook: required(among([file], ["x", [], {}, { ...file, nbformat: 3 }, { ...file, cells: [{}] }])),
    },
  },
  {
    operationId: "notebook_dashboard_create",
    body: { note_id: required(among(["@own:note_id"], ["x", 0, [], {}])), name: required(locationName), location },
  },
];
