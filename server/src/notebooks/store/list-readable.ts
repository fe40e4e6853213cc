import { scopeValues, verdictOn, verdictsOf, type ReadScope } from "../../access/policy/read-scope.ts";
import type { Queryable } from "../../db/database.ts";
import { nextPlaces, onePlace, placeColumns, placesFromTheTop, type PlacedTable } from "./readable-places.ts";

/**
 * Pages of notebooks and dashboards in the order of their places, then of their ids. Places are judged first, and only
 * rows in readable places are fetched, so hidden rows are not read. Rows that the caller owns, or that their own policy
 * shows, are found by indexes of their own.
 *
 * Readable places are found in two ways. A search from the top of the tree is fast if few places are readable; judging
 * places in the order of the list is fast if most are. A list searches from the top, and gives up if it finds too many
 * places. Then it judges a batch of places in order. If that does not fill the page, it searches from the top once
 * more, with a higher limit, and then judges larger and larger batches.
 */
export interface PlaceIds {
  readonly folderId: number | null;
  readonly homeId: number | null;
}

interface ListPage {
  readonly limit: number;
  readonly offset: number;
}

const FIRST_BATCH = 32;
const BATCH_GROWTH = 4;
const LARGEST_BATCH = 16_384;
/** A search from the top that finds this many places is given up. */
const FIRST_SEARCH_LIMIT = 500;
const SECOND_SEARCH_LIMIT = 5000;

const START: Cursor = { folder: -1, home: -1 };

interface Cursor {
  readonly folder: number;
  readonly home: number;
}

/** `columns` is SQL that refers to the row as `o`. Without `place`, lists all places. */
export async function listRows<Row extends object>(
  reader: Queryable,
  list: PlacedTable & { readonly columns: string },
  scope: ReadScope,
  page: ListPage,
  place?: PlaceIds,
): Promise<Row[]> {
  if (!scope.isFiltered) return listAll(reader, list, page, place);
  const query = { reader, list, scope };
  if (place !== undefined) {
    const at = { folder: place.folderId ?? 0, home: place.homeId ?? 0 };
    return (await listBatch<Row>(query, onePlace, { from: at, size: 1, isSinglePlace: true }, page)).rows;
  }
  return listByPlaces(query, page);
}

/** For callers from whom no policy hides anything. */
function listAll<Row extends object>(
  reader: Queryable,
  { table, columns }: PlacedTable & { columns: string },
  { limit, offset }: ListPage,
  place: PlaceIds | undefined,
): Promise<Row[]> {
  const inPlace = place === undefined ? "" : `where (${placeColumns("o")}) = ($3::bigint, $4::bigint)`;
  return reader.query<Row>(
    `select ${columns} from ${table} o ${inPlace} order by ${placeColumns("o")}, o.id limit $1 offset $2`,
    [limit, offset, ...(place === undefined ? [] : [place.folderId ?? 0, place.homeId ?? 0])],
  );
}

interface ListQuery {
  readonly reader: Queryable;
  readonly list: PlacedTable & { readonly columns: string };
  readonly scope: ReadScope;
}

async function listByPlaces<Row extends object>(query: ListQuery, { limit, offset }: ListPage): Promise<Row[]> {
  const rows: Row[] = [];
  let skipped = 0;
  const rest = (): ListPage => ({ limit: limit - rows.length, offset: offset - skipped });
  const take = (batch: Batch<Row>): void => {
    rows.push(...batch.rows);
    skipped += batch.shown - batch.rows.length;
  };
  /** The rest of the page; undefined: there are too many readable places. */
  const fromTheTop = async (from: Cursor, size: number): Promise<Row[] | undefined> => {
    const all = await listBatch<Row>(query, placesFromTheTop, { from, size }, rest());
    return all.places < size ? [...rows, ...all.rows] : undefined;
  };
  let from = START;
  let whole = await fromTheTop(from, FIRST_SEARCH_LIMIT);
  for (let size = FIRST_BATCH; whole === undefined; size = Math.min(size * BATCH_GROWTH, LARGEST_BATCH)) {
    const batch = await listBatch<Row>(query, nextPlaces, { from, size }, rest());
    take(batch);
    if (batch.last === null || batch.places < size || rows.length >= limit) return rows;
    from = batch.last;
    if (size === FIRST_BATCH) whole = await fromTheTop(from, SECOND_SEARCH_LIMIT);
  }
  return whole;
}

interface Batch<Row> {
  readonly rows: Row[];
  /** The number of rows found, including those before the offset; at most offset + limit. */
  readonly shown: number;
  readonly places: number;
  /** The last place of the batch; null: there are no more places. */
  readonly last: Cursor | null;
}

type BatchRow<Row> = Row & {
  batch_places: number;
  batch_shown: number;
  batch_folder: number | null;
  batch_home: number | null;
  batch_row: number | null;
};

/** $1 and $2 are the place before the batch (or the single place), $3 its size, $4 limit, $5 offset; then the scope. */
const SCOPE_AT = 6;

async function listBatch<Row extends object>(
  { reader, list, scope }: ListQuery,
  places: (table: PlacedTable, scopeAt: number) => string,
  { from, size, isSinglePlace = false }: { from: Cursor; size: number; isSinglePlace?: boolean },
  { limit, offset }: ListPage,
): Promise<Batch<Row>> {
  const range = rangeOf(places, isSinglePlace);
  const found = await reader.query<BatchRow<Row>>(
    `with recursive ${places(list, SCOPE_AT)},
     batch as materialized (
       select count(*) as places, (array_agg(p.f order by p.f desc, p.h desc))[1] as f,
              (array_agg(p.h order by p.f desc, p.h desc))[1] as h from place p),
     shown as materialized (
       select found.id, found.f, found.h from (${shownRows(list, range)}) found
        order by found.f, found.h, found.id limit $4::bigint + $5::bigint)
     select b.places as batch_places, (select count(*) from shown) as batch_shown, b.f as batch_folder,
            b.h as batch_home, s.id as batch_row, ${list.columns}
       from batch b
       left join (select * from shown order by f, h, id offset $5) s on true
       left join lateral (select * from ${list.table} x where x.id = s.id limit 1) o on true
      order by s.f, s.h, s.id`,
    [from.folder, from.home, size, limit, offset, ...scopeValues(scope)],
  );
  const [first] = found;
  if (first === undefined) throw new Error("a batch of places has no summary");
  const { batch_places: count, batch_shown: shown, batch_folder: folder, batch_home: home } = first;
  return {
    rows: found.filter((row) => row.batch_row !== null),
    shown,
    places: count,
    last: folder === null || home === null ? null : { folder, home },
  };
}

/** SQL: whether the place of a row `o` belongs to the batch. A search from the top covers all places after ($1, $2). */
function rangeOf(places: unknown, isSinglePlace: boolean): string {
  const place = `(${placeColumns("o")})`;
  if (isSinglePlace) return `${place} = ($1::bigint, $2::bigint)`;
  const after = `${place} > ($1::bigint, $2::bigint)`;
  if (places === placesFromTheTop) return after;
  return `${after} and ${place} <= (select b.f, b.h from batch b)`;
}

/**
 * SQL: the first rows of each kind: in readable places, with a policy that allows reading, and owned by the caller. A
 * row can be of several kinds; `union` removes the duplicates.
 */
function shownRows({ table, hasPolicies }: PlacedTable, range: string): string {
  const inOrder = `order by ${placeColumns("o")}, o.id limit $4::bigint + $5::bigint`;
  const ofRow = `o.id, o.place_folder as f, o.place_home as h`;
  const inPlaces = (condition: string): string => `
    (select n.id, p.f, p.h from (select r.f, r.h from readable r order by r.f, r.h) p cross join lateral (
       select o.id from ${table} o
        where o.place_folder = p.f and o.place_home = p.h ${condition}
        order by ${placeColumns("o")}, o.id limit $4::bigint + $5::bigint) n
     order by p.f, p.h, n.id limit $4::bigint + $5::bigint)`;
  const own = `(select ${ofRow} from ${table} o where o.owner_id = $${SCOPE_AT + 1}::bigint and ${range} ${inOrder})`;
  if (!hasPolicies) return [inPlaces(""), own].join(" union ");
  const verdict = verdictOn(`'${table}'`, "o.id", SCOPE_AT);
  const allowed = `
    (select ${ofRow}
       from (${verdictsOf(`'${table}'`, SCOPE_AT)}) rule
       cross join lateral (select * from ${table} x where x.id = rule.source_id limit 1) o
      where rule.weight % 2 = 0 and ${range} ${inOrder})`;
  return [
    inPlaces("and not o.has_policy"),
    inPlaces(`and o.has_policy and coalesce(${verdict} % 2 = 0, true)`),
    allowed,
    own,
  ].join(" union ");
}
