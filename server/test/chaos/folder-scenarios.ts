/**
 * Changes of folders and notebooks that a client makes while faults strike. Every acknowledged change must survive, and
 * none may be made twice. A request may be repeated, and a copy that got stuck may be handled late, after the client's
 * next change. So an object is renamed, moved and deleted at most once each: then such a copy has no effect.
 */
import type { ChaosClient } from "./chaos-client.ts";

export interface FolderScenario {
  /** The ids of all folders and notebooks, with their locations; null: deleted. */
  readonly folders: ReadonlyMap<number, string | null>;
  readonly notebooks: ReadonlyMap<number, string | null>;
  readonly changes: number;
}

const TYPE = "notes";
const WORKERS = 2;
const PER_PAGE = 100;

/** Runs one scenario after the other until the signal is aborted. */
export async function runFolderScenarios(client: ChaosClient, calm: AbortSignal): Promise<FolderScenario[]> {
  const scenarios: FolderScenario[] = [];
  let next = 0;
  const worker = async (): Promise<void> => {
    while (!calm.aborted) scenarios.push(await runScenario(client, next++));
  };
  await Promise.all(Array.from({ length: WORKERS }, worker));
  return scenarios;
}

/** Creates a folder in a folder, a notebook in it, then renames and moves all three and deletes some of them. */
async function runScenario(client: ChaosClient, index: number): Promise<FolderScenario> {
  const [outer, inner, note] = [`outer-${index}`, `inner-${index}`, `note-${index}`];
  const outerId = await createFolder(client, outer, "Common");
  const innerId = await createFolder(client, inner, `Common/${outer}`);
  const body = { name: note, location: `Common/${outer}/${inner}`, note_type: "spark" };
  const { id: notebookId } = (await client.send("POST", "/notebooks", body, `note ${note}`)) as { id: number };
  await client.send("PUT", "/folders/rename", { folder_id: outerId, name: `${outer}-renamed`, type: TYPE });
  const location = `Common/${outer}-renamed`;
  const move = { location: `${location}/${inner}`, destination_location: "Common", type: TYPE };
  await client.sendIdempotent("PUT", "/folders/move", move);
  await client.send("PUT", `/notebooks/${notebookId}`, { name: `${note}-renamed` });
  await client.send("PUT", `/notebooks/${notebookId}/move`, { location });
  const deleted = (["nothing", "outer", "note", "inner"] as const)[index % 4];
  if (deleted === "outer") await client.sendIdempotent("DELETE", `/folders/${outerId}?recursive=true&type=${TYPE}`);
  if (deleted === "note") await client.sendIdempotent("DELETE", `/notebooks/${notebookId}`);
  if (deleted === "inner") await client.sendIdempotent("DELETE", `/folders/${innerId}?type=${TYPE}`);
  return {
    folders: new Map([
      [outerId, deleted === "outer" ? null : location],
      [innerId, deleted === "inner" ? null : `Common/${inner}`],
    ]),
    notebooks: new Map([
      [notebookId, deleted === "outer" || deleted === "note" ? null : `${location}/${note}-renamed`],
    ]),
    changes: deleted === "nothing" ? 7 : 8,
  };
}

async function createFolder(client: ChaosClient, name: string, location: string): Promise<number> {
  const created = await client.send("POST", "/folders", { name, location, type: TYPE }, `folder ${name}`);
  return (created as { folder: { id: number } }).folder.id;
}

/** The differences between what was acknowledged and what is there. */
export async function findFolderFlaws(client: ChaosClient, scenarios: readonly FolderScenario[]): Promise<string[]> {
  const flaws: string[] = [];
  const compare = (what: string, expected: ReadonlyMap<number, string | null>, found: ReadonlyMap<number, string>) => {
    for (const [id, location] of expected) {
      const shown = found.get(id) ?? null;
      if (shown !== location) flaws.push(`${what} ${id} is at ${shown}, but was last acknowledged at ${location}`);
    }
    for (const [id, location] of found) if (!expected.has(id)) flaws.push(`${what} ${id} at ${location} exists twice`);
  };
  const folders = new Map(scenarios.flatMap((scenario) => [...scenario.folders]));
  const notebooks = new Map(scenarios.flatMap((scenario) => [...scenario.notebooks]));
  compare("folder", folders, await listAll(client, "folders", ({ location }) => location));
  compare("notebook", notebooks, await listAll(client, "notebooks", ({ location, name }) => `${location}/${name}`));
  return flaws;
}

interface Listed {
  readonly id: number;
  readonly location: string;
  readonly name: string;
}

async function listAll(
  client: ChaosClient,
  what: "folders" | "notebooks",
  locationOf: (each: Listed) => string,
): Promise<Map<number, string>> {
  const found = new Map<number, string>();
  for (let page = 1; ; page += 1) {
    const { status, text } = await client.read(`/${what}?per_page=${PER_PAGE}&page=${page}`);
    if (status !== 200) throw new Error(`GET /${what}: ${status} ${text}`);
    const listed = (JSON.parse(text) as Record<string, Listed[]>)[what] ?? []; // the reply of the operation
    for (const each of listed) found.set(each.id, locationOf(each));
    if (listed.length < PER_PAGE) return found;
  }
}
