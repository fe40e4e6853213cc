import { basename, dirname, normalize } from "node:path/posix";
import { SYSTEM_FOLDERS } from "../../processes/sandbox/bubblewrap-arguments.ts";
import type { Sandbox } from "../../processes/sandbox/sandbox.ts";
import { programFolders, type AttemptFiles } from "./command-files.ts";

/**
 * The cause of a failure, with advice if a local file is missing only because the sandbox hides it: users name files of
 * their own computer, or of the machine, and "does not exist" is not what they see there. Names of the storage, which only
 * Spark knows, get advice, too. Pure.
 */
export function explainHiddenPath(cause: string, { kind }: Pick<Sandbox, "kind">, files: AttemptFiles): string {
  if (STORAGE_NAME.test(cause)) return `${cause}; ${SPARK_ONLY}`;
  const path = kind === "bubblewrap" ? missingPath(cause) : undefined;
  if (path === undefined) return cause;
  // A warm server sees its own folder in that of the account.
  const shown = [...SHOWN, dirname(programFolders(files.folder).storage)];
  if (shown.some((folder) => path === folder || path.startsWith(`${folder}/`))) return cause;
  const name = PLAIN_NAME.test(basename(path)) ? basename(path) : "<name>";
  return `${cause}; ${HINT}: upload it with PUT /api/v2/files/${name} and read storage:/${name} with Spark`;
}

/** Python opens a name of the storage as if it were a local file. */
const STORAGE_NAME = /\bNo such file or directory: b?['"]storage:\//;
const SPARK_ONLY =
  "names with storage:/ work only in Spark: read the file with spark.read; toPandas() makes it a DataFrame of pandas";
const HINT =
  "programs see only the account's storage and their own folder, not the files of the machine or of your computer";
/** What programs see of the machine, and their own folders. */
const SHOWN = [...SYSTEM_FOLDERS, "/dev", "/headgate", "/proc", "/tmp"];
const PLAIN_NAME = /^[\w.-]{1,100}$/;

/** What Spark, Python, R and Java say about a file that does not exist. The paths are absolute. */
const MISSING = [
  /\bpath does not exist: (?:file:)?(\/[^\s'"]*)/i,
  /\bNo such file or directory: b?['"](\/[^'"]*)/,
  /\bcan(?:'t|not) open file ['"](\/[^'"]*)/,
  /\bthe jar (?:file:)?(\/.*) does not exist/,
  /\bFile (?:file:)?(\/.*) does not exist/,
  /\bFileNotFoundException: (?:file:)?(\/.*) \(No such file or directory\)/,
  /\bNoSuchFileException: (?:file:)?(\/\S*)/,
];

function missingPath(cause: string): string | undefined {
  const found = MISSING.map((form) => form.exec(cause)?.[1]).find((path) => path !== undefined);
  // Spark ends its sentence after the path.
  return found === undefined ? undefined : normalize(found.replace(/^\/+/, "/").replace(/\.$/, ""));
}
