import type { Queryable } from "../../src/db/database.ts";

/** The whole content of the database: every column of every table as text. */
export async function storedText(system: Queryable): Promise<string> {
  const tables = await system.query<{ name: string }>(
    "select quote_ident(table_name) as name from information_schema.tables where table_schema = 'public'",
  );
  const texts: string[] = [];
  for (const { name } of tables) {
    const rows = await system.query<{ text: string }>(`select t::text as text from ${name} t`);
    texts.push(...rows.map(({ text }) => text));
  }
  return texts.join("\n");
}
