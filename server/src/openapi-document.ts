import packageJson from "../package.json" with { type: "json" };
import type { OperationAccess } from "./access/operation.ts";
import { openApiDocument } from "./http/openapi.ts";
import type { OpenApiDocument } from "./http/openapi/document.ts";
import type { AccessNote } from "./http/openapi/operation-entry.ts";
import { endpoints } from "./routes.ts";

/** The OpenAPI document of Headgate: its endpoints, with its access rules as text. */
export function headgateOpenApi(): OpenApiDocument {
  return openApiDocument<OperationAccess>(endpoints, {
    title: "Headgate",
    version: packageJson.version,
    description: DESCRIPTION,
    describeAccess,
  });
}

/** The content of `api/openapi.json`. */
export function openApiText(): string {
  return `${JSON.stringify(headgateOpenApi(), null, 2)}\n`;
}

export function describeAccess({ permission, alternatives, object, lists }: OperationAccess): AccessNote {
  const shown =
    typeof permission === "string"
      ? permission
      : {
          ...permission,
          ...(alternatives === undefined ? {} : { alternatives }),
          ...(object === undefined ? {} : { object: { type: object.type, action: object.action } }),
          ...(lists === undefined ? {} : { lists }),
        };
  const rest = { permission: shown, needsToken: permission !== "public", isHidden: permission === "operator" };
  switch (permission) {
    case "public":
      return { ...rest, text: "Needs no token." };
    case "member":
      return { ...rest, text: "For every active member of the account." };
    case "operator":
      return { ...rest, text: "For operators of the installation; 404 for everyone else." };
    default: {
      const [resource, action] = permission.role.split(":");
      const groups = permission.groups.join(" or ");
      return {
        ...rest,
        text:
          `For members of ${groups}, or of a group with a role that allows ${action} on ${resource}` +
          `${object === undefined ? "" : ", unless a policy of the object decides otherwise"}.`,
      };
    }
  }
}

const DESCRIPTION = `Management interface of a self-hosted control plane for Spark.

**Begin here.** The first start prints a token; other users get theirs from an administrator of the account. A query, from start to result:

\`\`\`sh
TOKEN=hg_yours
COMMAND_ID=$(curl -s -X POST -H "X-AUTH-TOKEN: $TOKEN" "{server}/api/v1.2/commands" -d '{"command_type":"SparkCommand","sql":"select 1 as one"}' | sed 's/^{"id":\\([0-9]*\\).*/\\1/')
curl -H "X-AUTH-TOKEN: $TOKEN" "{server}/api/v1.2/commands/$COMMAND_ID/status_with_results?wait_seconds=60"
\`\`\`

Every operation below has such a line. \`$TOKEN\` is your token, other variables such as \`$COMMAND_ID\` are ids from earlier responses, and \`{server}\` is the address of this server.

**Paths.** The version is part of the path. Each operation is listed at its path in each version; operations that a newer version replaces are marked as deprecated. Every v1.2 path also exists under \`/api/v2\` (\`account\` also as \`accounts\`), \`/api/v1.3\` is another name of \`/api/v2\`, and \`/api/latest/<path>\` is the newest version that has the path. Clusters and apps have another form in v1.2, for clients of the original interface. Every path works with and without a trailing slash and with the suffix \`.json\`.

**Input.** Bodies are JSON whatever their Content-Type. Unknown keys are ignored and \`null\` is the same as absent. Integers and booleans may come as text (\`"25"\`, \`"True"\`), text may come as a number. On GET a JSON body is read as well; the query string takes precedence.

**Output.** Success is always 200. Every refusal has the schema \`Error\`, and every response has the header \`X-Request-Id\`.

**Names.** In keys and paths, \`svc\` stands for the prefix of the deployment (HEADGATE_IDENTIFIER_PREFIX).

**Permissions.** \`x-permission\` is \`public\` (no token), \`member\` (every active member), \`operator\`, or a list of built-in groups and a role permission (resource:action), one of which is needed. With \`object\`, the policy of the object decides first about the action; with \`lists\`, the list shows the objects that the caller may read.`;
