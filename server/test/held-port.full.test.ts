/**
 * While any program of a tenant runs, Headgate holds the API's port in both address families, even without a server.
 */
import { expect, test, vi } from "vitest";
import { because } from "./skip-reasons/skip-reasons.ts";
import { freePort, isFree } from "./support/free-port.ts";
import { AttackedPort, PATIENCE, systemPython } from "./support/held-port.ts";

test.skipIf(systemPython === undefined)(
  "no program can take the API's port while the server runs, stops, is stopped, is killed or starts",
  { timeout: 180_000, ...because("no Python below /usr") },
  async () => {
    const attacked = await AttackedPort.begin();
    try {
      await attacked.expectServed();

      // A killed holder is replaced: the stop below needs the new one.
      const [killed = 0] = await attacked.holders();
      process.kill(killed, "SIGKILL");
      await vi.waitFor(
        async () => expect((await attacked.holders()).filter((pid) => pid !== killed)).toHaveLength(1),
        PATIENCE,
      );
      await attacked.letThemTry();

      await attacked.headgate.stop();
      await attacked.expectAway();
      await attacked.letThemTry();

      const starting = attacked.startAgain();
      await attacked.letThemTry();
      await starting;
      expect(attacked.headgate.url).toBe(`http://127.0.0.1:${attacked.port}`);
      await attacked.expectServed();

      await attacked.headgate.crash();
      await attacked.letThemTry();
      await attacked.expectAway();
      expect(attacked.stolen()).toBe("");

      // The server moves to another port. The thief gets the old one, which proves its release.
      const old = attacked.port;
      attacked.port = await freePort();
      await attacked.startAgain({ HEADGATE_PORT: String(attacked.port) });
      await attacked.expectServed();
      await expect.poll(() => attacked.stolen(), PATIENCE).toContain("listens on");
      expect(await attacked.ask("127.0.0.1", old)).toMatchObject({ body: "not our form" });

      // After the last program the port is free again.
      await attacked.headgate.stop();
      await attacked.expectAway();
      attacked.endThief();
      await expect.poll(() => isFree(attacked.port), PATIENCE).toBe(true);
      expect(await attacked.holders()).toEqual([]);
    } finally {
      await attacked.end();
    }
  },
);
