import { basename } from "node:path/posix";
import { Type } from "typebox";
import { operation } from "../access/operation.ts";
import { DEFAULT_PER_PAGE, MAX_PER_PAGE } from "../http/paging.ts";
import { Nullable, OneOf } from "../http/schema.ts";
import { compareUtf8 } from "../lib/compare-utf8.ts";
import { unfinishedName } from "../object-store/file/list-files.ts";
import type { WithAccountFiles } from "./account-files.ts";
import { FileObject, fileObject, mayUseFiles } from "./file.ts";
import { checkBeginning } from "./file-path.ts";

const LONGEST_PATH = 8000;
const TIME_LIMIT_MS = 60_000;

export const listFiles = operation({
  id: "file_list",
  summary: "List files",
  description:
    "In the order of the bytes of their paths. With delimiter=/, the files and folders of one folder: prefix is its path " +
    "with a slash at the end, and prefixes are the folders in it. The next page has after=<next_after>.",
  tag: "Files",
  method: "GET",
  paths: { v2: "/files" },
  access: { permission: mayUseFiles("file:read") },
  query: Type.Object({
    prefix: Type.Optional(
      Type.String({ maxLength: LONGEST_PATH, description: "The beginning of the paths", examples: ["sales/"] }),
    ),
    delimiter: Type.Optional(
      OneOf(["/"], { description: "Shows what is below a further slash as one of the prefixes" }),
    ),
    after: Type.Optional(
      Type.String({
        maxLength: LONGEST_PATH,
        description: "Only paths after this one: next_after of the previous page",
      }),
    ),
    per_page: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: MAX_PER_PAGE,
        default: DEFAULT_PER_PAGE,
        description: "How many files and prefixes together",
      }),
    ),
  }),
  reply: Type.Object({
    files: Type.Array(FileObject),
    prefixes: Type.Array(Type.String({ description: "Ends with a slash" })),
    next_after: Nullable(Type.String({ description: "Null on the last page" })),
  }),

  async handle({ query, caller, requireSlot, endingSignal }, services: WithAccountFiles) {
    const { prefix = "", delimiter, after, per_page: limit = DEFAULT_PER_PAGE } = query;
    checkBeginning("prefix", prefix);
    requireSlot("stream");
    const signal = AbortSignal.any([endingSignal(), AbortSignal.timeout(TIME_LIMIT_MS)]);
    return services.accountFiles.use(caller.accountId, async (storage) => {
      const { store, uriOf, keyOf, pathOf, noteWorks, hasFolders } = storage;
      if (after !== undefined && hasFolders) checkBeginning("after", after);
      const from = after === undefined ? undefined : keyOf(after);
      const page = await store.page(uriOf(prefix), { delimiter, after: from, limit, signal });
      await noteWorks();
      const files = page.entries.map((entry) => fileObject(pathOf(entry.key), entry));
      const prefixes = page.prefixes.map(pathOf);
      const [last] = [files.at(-1)?.path, prefixes.at(-1)]
        .filter((each) => each !== undefined)
        .sort((one, other) => compareUtf8(other, one));
      // Some tools create empty objects for folders, which are no files; temporary objects are no files either.
      const shown = files.filter(({ path }) => !path.endsWith("/") && !unfinishedName.test(basename(path)));
      return { files: shown, prefixes, next_after: page.hasMore ? (last ?? null) : null };
    });
  },
});
