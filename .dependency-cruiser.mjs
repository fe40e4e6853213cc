/**
 * The import directions of docs/architecture.md, held by `npm test`:
 *
 *   lib ← db, http, processes, object-store ← engines ← access ← the slices ← routes, sealed-columns ← tasks ← compose ← app ← start, open-port, check-port, running-server, end-everything, admin ← main
 *
 * Each part lists what it may import besides itself; all else below server/src is forbidden. Type imports count: a type
 * from the wrong side ties two parts together as much as a value does. The one exception: a slice may `import type` from
 * the `contract.ts` of another slice, which declares what the slice offers to others.
 */
const slices = ["accounts", "users", "clusters", "apps", "commands", "catalog", "folders", "notebooks", "files"];
const leaves = ["lib/", "db/", "http/", "processes/", "object-store/", "engines/"];
const contracts = slices.map((slice) => `${slice}/contract.ts`);
const everySlice = ["access/", ...slices.map((slice) => `${slice}/`)];

/** A part ends in `/` when it is a folder, in `.ts` when it is one file. */
const mayImport = {
  "lib/": [],
  "db/": ["lib/"],
  "http/": ["lib/"],
  "processes/": ["lib/"],
  "object-store/": ["lib/"],
  "engines/": ["lib/", "processes/", "object-store/"],
  "access/": leaves,
  ...Object.fromEntries(slices.map((slice) => [`${slice}/`, [...leaves, "access/", ...contracts]])),
  "routes.ts": [...leaves, ...everySlice],
  "sealed-columns.ts": ["db/", ...everySlice],
  "tasks.ts": [...leaves, ...everySlice, "sealed-columns.ts"],
  "config/": ["lib/"],
  "config.ts": ["lib/", "config/"],
  "openapi-document.ts": ["http/", "access/", "routes.ts"],
  "open-log.ts": ["lib/", "http/", "commands/", "config.ts"],
  "set-up.ts": ["lib/", "processes/", "engines/", "config.ts"],
  "compose/": [...leaves, ...everySlice, "routes.ts", "tasks.ts", "openapi-document.ts", "config.ts", "config/"],
  "app.ts": [...leaves, ...everySlice, "compose/"],
  "end-everything.ts": [...leaves, ...everySlice, "config.ts"],
  "running-server.ts": ["lib/", "db/", "config.ts", "config/"],
  "admin/": [
    ...leaves,
    ...everySlice,
    "routes.ts",
    "tasks.ts",
    "sealed-columns.ts",
    "config.ts",
    "config/",
    "app.ts",
    "end-everything.ts",
    "running-server.ts",
    "open-log.ts",
  ],
  "open-port.ts": ["lib/", "http/", "processes/", "config.ts"],
  "check-port.ts": ["lib/", "db/", "processes/", "config.ts"],
  "start.ts": [
    "lib/",
    "db/",
    "accounts/",
    "clusters/",
    "config.ts",
    "app.ts",
    "check-port.ts",
    "open-port.ts",
    "running-server.ts",
  ],
  "main.ts": [
    ...leaves,
    ...everySlice,
    "routes.ts",
    "tasks.ts",
    "config.ts",
    "config/",
    "app.ts",
    "end-everything.ts",
    "start.ts",
    "open-log.ts",
    "set-up.ts",
    "openapi-document.ts",
    "admin/",
  ],
};

const tests = String.raw`\.test\.ts$|^server/test/`;
const pattern = (part) => `^server/src/${part.replace(".", String.raw`\.`)}${part.endsWith("/") ? "" : "$"}`;

const directions = Object.entries(mayImport).map(([part, allowed]) => ({
  name: `imports-of-${part.replace(/\/$|\.ts$/, "")}`,
  comment: `${part} may import ${allowed.length === 0 ? "nothing of ours" : allowed.join(", ")}; compose/ passes in what else it needs`,
  severity: "error",
  from: { path: pattern(part), pathNot: tests },
  to: { path: String.raw`^(server|bench)/(?!package\.json$)`, pathNot: [part, ...allowed].map(pattern) },
}));

export default {
  forbidden: [
    ...directions,
    {
      name: "contract-types-only",
      comment: "Slices share the types of a contract.ts by `import type`; compose/ passes in what implements them",
      severity: "error",
      from: { path: `^server/src/(${slices.join("|")})/`, pathNot: tests },
      to: {
        path: contracts.map(pattern),
        pathNot: "^server/src/$1/", // the slice itself
        dependencyTypesNot: ["type-only"],
      },
    },
    {
      name: "part-without-rule",
      comment: "A new folder or file of server/src gets an entry in the list above first",
      severity: "error",
      from: { path: "^server/src/", pathNot: [...Object.keys(mayImport).map(pattern), tests] },
      to: {},
    },
    ...["processes", "object-store", "engines", "access", ...slices].map((part) => ({
      name: `folders-of-${part}-in-layers`,
      comment: `No two folders of ${part} import each other, directly or by way of others; move what they share below both`,
      severity: "error",
      scope: "folder",
      from: { path: `^server/src/${part}/` },
      to: { circular: true, path: `^server/src/${part}/` },
    })),
    {
      name: "folders-of-commands-below-its-operations",
      comment: "The files of commands/ itself are its operations, which use its folders; a folder does not use them",
      severity: "error",
      from: { path: "^server/src/commands/[^/]+/", pathNot: tests },
      to: { path: String.raw`^server/src/commands/[^/]+\.ts$` },
    },
    {
      name: "no-circular",
      comment: "Two files that import each other are one file, or miss an interface that compose/ passes in",
      severity: "error",
      from: {},
      to: { circular: true },
    },
    {
      name: "no-orphans",
      comment: "Nothing imports it and it imports nothing: dead, or not wired in yet. Browsers run search.js",
      severity: "error",
      from: {
        orphan: true,
        path: "^server/src/",
        pathNot: [tests, "/fixtures/", String.raw`^server/src/main\.ts$`, String.raw`/reference/search\.js$`],
      },
      to: {},
    },
    {
      name: "not-for-production",
      comment: "The server is installed without development dependencies",
      severity: "error",
      from: { path: "^server/src/", pathNot: tests },
      to: { dependencyTypes: ["npm-dev", "npm-no-pkg", "npm-unknown"], dependencyTypesNot: ["type-only"] },
    },
    {
      name: "not-resolvable",
      comment: "The file or package does not exist, or package.json does not name it",
      severity: "error",
      from: {},
      to: { couldNotResolve: true },
    },
    {
      name: "tests-stay-outside",
      comment: "The product does not need its tests",
      severity: "error",
      from: { path: "^server/src/", pathNot: tests },
      to: { path: tests },
    },
  ],
  options: {
    // TypeScript 7 has no JavaScript interface to parse with, and acorn would not see type imports.
    parser: "swc",
    // The imports of tests do not count: tests may reach further than the code that they test.
    doNotFollow: { path: ["node_modules", tests] },
    combinedDependencies: true,
    enhancedResolveOptions: { exportsFields: ["exports"], conditionNames: ["import", "node", "default"] },
  },
};
