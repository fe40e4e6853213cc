import { expect, test } from "vitest";
import { newEmail, useServer } from "../../test/support/given.ts";

const given = useServer({ settings: { HEADGATE_BAD_TOKEN_LIMIT: "3" } });

test("an address that guesses codes is rate-limited, and callers with valid tokens from there are not", async () => {
  const account = await given.account();
  await account.post("/users/invite_new", { invitee_email: newEmail() });
  const guess = { code: `hgi_${"A".repeat(43)}`, name: "Guess" };
  for (let tries = 0; tries < 3; tries += 1) {
    await given
      .anonymous()
      .post("/api/v2/invitations/accept", guess)
      .refused(422, /^code /);
  }
  const limited = await given.anonymous().post("/api/v2/invitations/accept", guess).refused(429);
  expect(Number(limited.headers.get("retry-after"))).toBeGreaterThan(0);
  await account.get("/accounts/get_users");
});
