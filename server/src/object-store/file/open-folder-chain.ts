import { fileFailure } from "./file-failure.ts";
import { Folder } from "./folder.ts";

/** A file below the root: its folders and its name. */
export interface FilePath {
  readonly folders: readonly string[];
  readonly name: string;
  /** The start of error messages. */
  readonly subject: string;
}

/** Opens the innermost folder. The caller closes it. */
export async function openFolders(root: string, file: Omit<FilePath, "name">, mode: "enter" | "make"): Promise<Folder> {
  let folder = await Folder.openRoot(root).catch(rethrow(file));
  for (const name of file.folders) {
    const outer = folder;
    try {
      folder = await (mode === "make" ? outer.enterOrMake(name) : outer.enter(name));
    } catch (error) {
      throw fileFailure(file.subject, error);
    } finally {
      await outer.close();
    }
  }
  return folder;
}

export function rethrow({ subject }: Pick<FilePath, "subject">): (error: unknown) => never {
  return (error) => {
    throw fileFailure(subject, error);
  };
}
