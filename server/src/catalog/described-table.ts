import { Type } from "typebox";
import type { DescribedTable } from "./tables/table-catalog.ts";

const Columns = Type.Object({ columns: Type.Array(Type.Object({ name: Type.String(), type: Type.String() })) });

/** §2.7: an object with a single key, the name of the table. */
export const DescribedTableReply = Type.Record(Type.String(), Columns);

export function tableJson({ name, columnsJson }: DescribedTable): string {
  return `{${JSON.stringify(name)}:{"columns":${columnsJson}}}`;
}
