import { Type } from "typebox";
import { operation } from "../access/operation.ts";
import { invalid, notFound } from "../lib/fault.ts";
import type { OpenFiles, WithAccountFiles } from "./account-files.ts";
import { deleteBelow, MAX_DELETED, type Deleted } from "./delete-below.ts";
import { FileParams, mayUseFiles } from "./file.ts";
import { isMissing, isNoFile } from "./file-fault.ts";
import { pathInUrl } from "./file-path.ts";

/** To ignore them would delete a file that the client wants to keep. */
const CONDITIONS = ["If-Match", "If-None-Match", "If-Unmodified-Since"];

export const deleteFiles = operation({
  id: "file_delete",
  summary: "Delete a file, or all files in a folder",
  description: `With recursive=true, deletes up to ${MAX_DELETED.toLocaleString("en")} files below the path; has_more says whether to repeat the request.`,
  tag: "Files",
  method: "DELETE",
  paths: { v2: "/files/:path" },
  restOfPath: true,
  worksOnFullDisk: true,
  access: { permission: mayUseFiles("file:delete") },
  params: FileParams,
  query: Type.Object({
    recursive: Type.Optional(
      Type.Boolean({ default: false, description: "The path is that of a folder: deletes everything below it" }),
    ),
  }),
  example: { params: { path: "orders.csv" } },
  reply: Type.Object({
    status: Type.Literal("deleted"),
    count: Type.Integer({ description: "How many files" }),
    has_more: Type.Optional(Type.Boolean({ description: "With recursive: the folder has more files" })),
  }),

  async handle({ params, query, caller, header, requireSlot, endingSignal, change }, services: WithAccountFiles) {
    const { recursive = false } = query;
    const path = pathInUrl(params.path, { isFolder: recursive, mayBeReserved: true });
    for (const name of CONDITIONS) {
      if (header(name) !== undefined) throw invalid(name, "cannot be used in a deletion");
    }
    requireSlot("stream");
    const signal = endingSignal();
    return services.accountFiles.use(caller.accountId, async (files) => {
      const deleted: Deleted = { files: 0, folders: 0, hasMore: false };
      const record = () =>
        change(async (_tx, audit) => {
          audit.object = `file/${path}${recursive ? "/" : ""}`;
          const reply = { status: "deleted" as const, count: deleted.files };
          return recursive ? { ...reply, has_more: deleted.hasMore } : reply;
        });
      try {
        await (recursive ? deleteBelow(files, path, deleted, signal) : deleteOne(files, path, deleted));
      } catch (error) {
        if (deleted.files > 0) await record();
        throw error;
      }
      if (deleted.files + deleted.folders === 0) throw notFound(recursive ? "Folder" : "File", path);
      await files.noteWorks();
      return record();
    });
  },
});

async function deleteOne({ store, uriOf, reserveDisk }: OpenFiles, path: string, deleted: Deleted): Promise<void> {
  const uri = uriOf(path);
  try {
    await store.stat(uri);
  } catch (error) {
    if (isMissing(error)) throw notFound("File", path);
    // A folder of this machine may also have links and pipes, and files with reserved names.
    if (reserveDisk === undefined || !isNoFile(error)) throw error;
  }
  await store.delete(uri);
  deleted.files = 1;
}
