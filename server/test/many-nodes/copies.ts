import { expect, test } from "vitest";
import { copyEnd, printReport, submitCopy } from "../support/stub-copy.ts";
import { PATIENCE, type ThreeNodes } from "./three-nodes.ts";

export function testCopies({ nodes, at, idOf, db, ended, makeDue, setState, submitCopies }: ThreeNodes): void {
  test("copies wait for the node that has their journal, say so, and hold up no others on an idle node", async () => {
    const ids = await submitCopies(4);
    await nodes.onlyOn("other");
    await makeDue(ids);
    const has = `its next attempt has to run on node ${idOf("runner")}, which has the journal of the copy`;
    for (const name of ["runner", "other"] as const) {
      await expect
        .poll(async () => (await at(name).get(`/commands/${ids[0]}`)).waiting_reason, PATIENCE)
        .toBe(`${has} and is paused`);
    }
    const other = await submitCopy(at("other"), printReport(copyEnd()));
    expect(await ended(other)).toBe("done");
    await setState("runner", "active");
    for (const id of ids) expect(await ended(id)).toBe("done");
    const attempts = await db().query("select number, node_id from command_attempt where command_id = any ($1)", [ids]);
    expect(attempts).toHaveLength(8);
    for (const attempt of attempts) expect(attempt).toMatchObject({ node_id: idOf("runner") });
  });

  test("a node is drained after the last attempt of its copies", async () => {
    const [id = 0] = await submitCopies(1);
    await setState("other", "active");
    await setState("runner", "draining");
    const state = (): Promise<object[]> => db().query("select state from node where id = $1", [idOf("runner")]);
    await makeDue([id]);
    expect(await ended(id)).toBe("done");
    await expect.poll(state, PATIENCE).toEqual([{ state: "drained" }]);
  });

  test("a copy ends as error if the node that has its journal was drained nevertheless", async () => {
    const [id = 0] = await submitCopies(1);
    await setState("other", "active");
    await setState("runner", "drained"); // as by an earlier version, which does not know of waiting copies
    expect(await ended(id)).toBe("error");
    const { attempts } = await at("other").get(`/commands/${id}/attempts`);
    const cause = `it cannot continue: node ${idOf("runner")}, which has the journal of the copy, was drained.`;
    expect(attempts).toMatchObject([{ number: 1 }, { number: 2, cause: expect.stringContaining(cause) }]);
  });
}
