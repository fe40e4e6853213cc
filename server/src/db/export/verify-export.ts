import { parseKeys, type Key } from "../../lib/key-ring.ts";
import type { Secret } from "../../lib/secret.ts";
import { ArchiveReader } from "./archive-reader.ts";
import { parseContent, parseManifest, sectionOf, type Content, type Manifest } from "./manifest.ts";
import { damaged, unlockSealedFile, type UnlockedFile } from "./sealed-file.ts";

export interface VerifiedExport {
  unlocked: UnlockedFile;
  manifest: Manifest;
  keys: Key[];
}

/**
 * Verifies the whole file before anything is loaded: the passphrase, every checksum, the manifest, and the number of
 * rows of each table. Afterwards a load can fail only because of the target.
 */
export async function verifyExport(file: string, passphrase: Secret, knownMigration: number): Promise<VerifiedExport> {
  return verifyUnlocked(await unlockSealedFile(file, passphrase), knownMigration);
}

export async function verifyUnlocked(unlocked: UnlockedFile, knownMigration: number): Promise<VerifiedExport> {
  const { file } = unlocked;
  const reader = new ArchiveReader(unlocked);
  const manifest = parseManifest(await reader.text("manifest.json"), knownMigration);
  const keys = parseKeys(await reader.text("keys"), `the key file in ${file}`);
  await verifyTables(reader, sectionOf(), manifest, file);
  for (const name of manifest.attached ?? []) {
    const section = sectionOf(name);
    const content = parseContent(await reader.text(`${section}manifest.json`));
    await reader.text(`${section}schema.sql`);
    await verifyTables(reader, section, content, file);
  }
  await reader.assertEnd();
  return { unlocked, manifest, keys };
}

async function verifyTables(reader: ArchiveReader, section: string, { tables }: Content, file: string): Promise<void> {
  for (const { name, rows } of tables) {
    const found = await countLines(reader.rows(section, name));
    if (found !== rows) throw damaged(file, new Error(`${section}${name} has ${found} of ${rows} rows`));
  }
}

/** A row of COPY text is one line: line breaks inside values are escaped. */
async function countLines(body: AsyncIterable<Buffer>): Promise<number> {
  let lines = 0;
  for await (const chunk of body) {
    for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, at + 1)) lines += 1;
  }
  return lines;
}
