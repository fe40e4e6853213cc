import { missingPermission } from "../access/permission.ts";
import { operation } from "../access/operation.ts";
import type { RequestContext } from "../http/endpoint.ts";
import type { DiskReservation } from "../lib/disk-reservation.ts";
import { invalid } from "../lib/fault.ts";
import type { StoredPut } from "../object-store/object-store.ts";
import type { OpenFiles, WithAccountFiles } from "./account-files.ts";
import { FileObject, fileObject, FileParams, mayUseFiles } from "./file.ts";
import { expectedEtag, IF_MATCH } from "./if-match.ts";
import { pathInUrl } from "./file-path.ts";
import type { EndUpload } from "./unfinished-uploads.ts";

/** To ignore them would store other contents than the client means, or replace a file that it wants to keep. */
const REFUSED_HEADERS = ["Content-Range", "If-None-Match", "If-Unmodified-Since"];
const REPLACING = mayUseFiles("file:update");

export const uploadFile = operation({
  id: "file_upload",
  summary: "Upload a file",
  description:
    "Creates the file or replaces it. The file appears when its last byte has arrived; an upload that ends early leaves " +
    "nothing. Needs file:update as well, because it may replace a file.",
  tag: "Files",
  method: "PUT",
  paths: { v2: "/files/:path" },
  restOfPath: true,
  access: { permission: mayUseFiles("file:create") },
  params: FileParams,
  worksOnFullDisk: true,
  byteBody: "The contents of the file: bytes, with Content-Length or chunked; only S3 limits their number",
  requestHeaders: { "If-Match": `Replaces the file only if ${IF_MATCH}` },
  example: { params: { path: "orders.csv" }, bytes: "id,price\n1,9.50\n" },
  reply: FileObject,

  async handle({ params, caller, deny, header, bytes, requireSlot, endingSignal, change }, services: WithAccountFiles) {
    const path = pathInUrl(params.path);
    const refusal = missingPermission(REPLACING, caller);
    if (refusal !== undefined) throw deny(refusal);
    const ifMatch = expectedEtag(header("If-Match"));
    for (const name of REFUSED_HEADERS) {
      if (header(name) !== undefined) throw invalid(name, "cannot be used in an upload");
    }
    requireSlot("stream");
    const signal = endingSignal();
    return services.accountFiles.use(caller.accountId, async (files) => {
      const written = await store(files, { path, ifMatch, bytes, signal });
      // After the store, so that the audit has no file that never was. A crash in between loses this row only.
      return change(async (_tx, audit) => {
        audit.object = `file/${path}`;
        return fileObject(path, written);
      });
    });
  },
});

interface Upload {
  readonly path: string;
  readonly ifMatch: string | undefined;
  readonly bytes: RequestContext["bytes"];
  readonly signal: AbortSignal;
}

async function store(files: OpenFiles, { path, ifMatch, bytes, signal }: Upload) {
  let reservation: DiskReservation | undefined;
  let endUpload: EndUpload | undefined;
  let releaseMemory: (() => void) | undefined;
  let isStored = false;
  const { stream, length } = bytes((count) => reservation?.add(count));
  try {
    releaseMemory = files.takeMemory(length);
    reservation = await files.reserveDisk?.(length);
    const written = await files.store.put(files.uriOf(path), stream, {
      signal,
      ifMatch,
      bytes: length,
      ownsChunks: true,
      onUnfinished: async (unfinished) => {
        endUpload = await files.noteUnfinished(unfinished);
      },
    });
    isStored = true;
    await files.noteWorks();
    return await described(files, path, written);
  } finally {
    stream.destroy();
    releaseMemory?.();
    reservation?.release(isStored);
    await endUpload?.(isStored);
  }
}

/** Some stores say more about a file only later. If another upload has replaced it meanwhile, that is not about ours. */
async function described({ store: from, uriOf }: OpenFiles, path: string, { size, etag, modifiedAt }: StoredPut) {
  if (modifiedAt !== null) return { size, etag, modifiedAt };
  const found = await from.stat(uriOf(path)).catch(() => undefined);
  const isOurs = found?.size === size && (etag === null || found.etag === etag);
  return isOurs ? found : { size, etag, modifiedAt: new Date() };
}
