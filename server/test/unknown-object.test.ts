import { describe, expect, test } from "vitest";
import { endpoints } from "../src/routes.ts";
import { useServer, type AccountClient } from "./support/given.ts";
import { sendAs } from "./support/raw-request.ts";
import { filledPath, pathParameters } from "./support/sample-input.ts";

/**
 * Generated from the endpoints' data: the object in the path is searched for before the rest of the request is checked.
 */
const given = useServer({ settings: { HEADGATE_RATE_LIMIT: "0" } });

const UNKNOWN = "987654321";

/** Existing objects of the caller, so that only one of several path parameters is unknown. */
async function known(account: AccountClient): Promise<Record<string, string>> {
  const { id } = await account.get("/groups/system-user");
  return { group_id: String(id), role_id: "system-user", users: account.email };
}

const places = endpoints.flatMap((endpoint) =>
  pathParameters(endpoint).map((name) => ({ id: endpoint.id, name, endpoint })),
);

describe("an unknown object is 404 whatever the body is", () => {
  test.each(places)("$id, $name", async ({ name, endpoint }) => {
    const account = await given.operator();
    const others = Object.fromEntries(pathParameters(endpoint).map((each) => [each, UNKNOWN]));
    const params = { ...others, ...(await known(account)), [name]: UNKNOWN };
    const path = filledPath(endpoint, params);
    for (const body of ["[]", '"text"', '{"page":"x","wait_seconds":"x"}']) {
      const { status, text } = await sendAs(given.base, account, { method: endpoint.method, path, body });
      expect([status, text], `${endpoint.method} ${path} ${body}`).toEqual([404, expect.any(String)]);
    }
  });
});
