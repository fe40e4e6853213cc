import type { CallOptions } from "../object-store.ts";
import { orMissing, parsed, parseFileStatus, type FileStatus } from "./webhdfs-answers.ts";
import type { WebHdfsClient } from "./webhdfs-client.ts";

export interface FileCall extends CallOptions {
  path: string;
  /** The start of error messages. */
  subject: string;
}

/** Undefined: there is neither a file nor a folder. */
export async function findFile(client: WebHdfsClient, file: FileCall): Promise<FileStatus | undefined> {
  const read = async (): Promise<FileStatus> => {
    const document = await client.document({ ...file, method: "GET", operation: "GETFILESTATUS" });
    return parsed(file, () => parseFileStatus(document));
  };
  return orMissing(read());
}
