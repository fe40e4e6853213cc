import exampleAnswers from "../../api/example-answers.json" with { type: "json" };
import packageJson from "../package.json" with { type: "json" };
import { describeAccess } from "./access/describe-access.ts";
import type { OperationAccess } from "./access/operation.ts";
import { openApiDocument } from "./http/openapi.ts";
import type { OpenApiDocument } from "./http/openapi/document.ts";
import { endpoints } from "./routes.ts";

/** The OpenAPI document of Headgate: its endpoints, with its access rules as text. */
export function headgateOpenApi(): OpenApiDocument {
  return openApiDocument<OperationAccess>(endpoints, {
    title: "Headgate",
    version: packageJson.version,
    description: DESCRIPTION,
    describeAccess,
    guides: GUIDES,
    answers: exampleAnswers,
  });
}

/** The content of `api/openapi.json`. */
export function openApiText(): string {
  return `${JSON.stringify(headgateOpenApi(), null, 2)}\n`;
}

/** Guides by tag; paths of the repository, where the server serves them, too. */
const GUIDES: Readonly<Record<string, readonly string[]>> = {
  Commands: [
    "docs/first-csv.md",
    "docs/commands.md",
    "docs/programs.md",
    "docs/queries.md",
    "docs/copies.md",
    "docs/table-refresh.md",
    "docs/table-formats.md",
    "docs/results.md",
    "docs/command-states.md",
  ],
  Files: ["docs/files.md", "docs/storage.md"],
  Hive: ["docs/tables.md"],
  Sensors: ["docs/sensors.md"],
  Clusters: ["docs/clusters.md", "docs/table-formats.md", "docs/policies.md"],
  Apps: ["docs/clusters.md"],
  Folders: ["docs/folders.md", "docs/policies.md"],
  Notebooks: ["docs/notebooks.md", "docs/policies.md"],
  Dashboards: ["docs/notebooks.md"],
  Accounts: ["docs/accounts.md", "docs/storage.md"],
  Users: ["docs/access.md"],
  Groups: ["docs/access.md"],
  Roles: ["docs/access.md"],
  Policies: ["docs/policies.md"],
  "IP whitelist": ["docs/access.md"],
  Audit: ["docs/access.md"],
  Operator: ["docs/operations.md", "docs/operations/nodes.md", "docs/accounts.md"],
};

const DESCRIPTION = `Management interface of a self-hosted control plane for Spark.

**Begin here.** The first start prints a token; other users get theirs from an administrator of the account. A query, from start to result:

\`\`\`sh
TOKEN=hg_yours
COMMAND_ID=$(curl -s -X POST -H "X-AUTH-TOKEN: $TOKEN" "{server}/api/v1.2/commands" -d '{"command_type":"SparkCommand","sql":"select 1 as one"}' | sed 's/^{"id":\\([0-9]*\\).*/\\1/')
curl -H "X-AUTH-TOKEN: $TOKEN" "{server}/api/v1.2/commands/$COMMAND_ID/status_with_results?wait_seconds=60"
\`\`\`

Every operation below has such a line. \`$TOKEN\` is your token, other variables such as \`$COMMAND_ID\` are ids from earlier responses, and \`{server}\` is the address of this server.

**Paths.** The version is part of the path. Paths that a newer version replaces are marked as deprecated. Every v1.2 path also exists under \`/api/v2\` (\`account\` also as \`accounts\`), \`/api/v1.3\` is another name of \`/api/v2\`, and \`/api/latest/<path>\` is the newest version that has the path. Clusters and apps have another form in v1.2, for clients of the original interface. Every path works with and without a trailing slash and with the suffix \`.json\`.

**Input.** Bodies are JSON whatever their Content-Type. Unknown keys are ignored and \`null\` is the same as absent. Integers and booleans may come as text (\`"25"\`, \`"True"\`), text may come as a number. On GET a JSON body is read as well; the query string takes precedence.

**Output.** Success is always 200. Every refusal has the schema \`Error\`, and every response has the header \`X-Request-Id\`.

**Names.** In keys and paths, \`svc\` stands for the prefix of the deployment (HEADGATE_IDENTIFIER_PREFIX). The page \`/docs\` shows them with that prefix.

**Permissions.** Each operation says in words who may call it, with the code of the permission (resource:action) as roles use it. In the document, \`x-permission\` is \`public\` (no token), \`member\` (every active member), \`operator\`, or a list of built-in groups and a role permission (resource:action), one of which is needed. With \`object\`, the policy of the object decides first about the action; with \`lists\`, the list shows the objects that the caller may read.`;
