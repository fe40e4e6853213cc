import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { numberedName } from "./contents.ts";
import type { Workbench } from "./workbench.ts";

const ROOM_PER_KEY = 1024;
const FIRST = "first.txt";

/** Calls `work` while `s3://sources/NAME/` has `count` keys, all linked to one object. */
export async function withManyKeys<Value>(
  { files, objects, runner, clients, requireRoom }: Workbench,
  name: string,
  count: number,
  work: () => Promise<Value>,
): Promise<Value> {
  requireRoom(count * ROOM_PER_KEY, count + count / 500);
  const folder = join(files, name);
  try {
    mkdirSync(folder);
    writeFileSync(join(folder, FIRST), "contents of all\n");
    await runner.run(clients.s5cmd("cp", join(folder, FIRST), `s3://sources/${name}/${FIRST}`));
    objects.linkObjects(`sources/${name}`, FIRST, numberedNames(count - 1));
    return await work();
  } finally {
    rmSync(folder, { recursive: true, force: true });
    await objects.remove("sources", name);
  }
}

function* numberedNames(count: number): Generator<string> {
  for (let index = 0; index < count; index += 1) yield numberedName(index, ".txt");
}
