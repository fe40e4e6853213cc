import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { because, NO_IPV6 } from "./skip-reasons/skip-reasons.ts";
import { isFree } from "./support/free-port.ts";
import { AttackedPort, AWAY, PATIENCE, systemPython } from "./support/held-port.ts";
import { hasIpv6 } from "./support/loopback.ts";

/** For crashes, restarts and a change of the port see held-port.full.test.ts. */
describe.skipIf(systemPython === undefined)("the port of the API", because("no Python below /usr"), () => {
  let attacked: AttackedPort;

  beforeAll(async () => {
    attacked = await AttackedPort.begin();
  }, 60_000);
  afterAll(() => attacked.end(), 60_000);

  async function expectAnswered(host: string, answer: object): Promise<void> {
    expect(await attacked.ask(host)).toMatchObject(answer);
  }

  test("is served at 127.0.0.1", () => expectAnswered("127.0.0.1", { status: 401 }));
  test.skipIf(!hasIpv6)("is served at ::1", because(NO_IPV6), () => expectAnswered("::1", { status: 401 }));

  describe("while the server is stopped", () => {
    beforeAll(async () => void (await attacked.headgate.stop()));

    test("answers 503 at 127.0.0.1", () => expectAnswered("127.0.0.1", AWAY));
    test.skipIf(!hasIpv6)("answers 503 at ::1", because(NO_IPV6), () => expectAnswered("::1", AWAY));

    test("cannot be taken by a program, and is free after the last program", async () => {
      await attacked.letThemTry();
      expect(attacked.stolen()).toBe("");
      attacked.endThief();
      await expect.poll(() => isFree(attacked.port), PATIENCE).toBe(true);
    });
  });
});
