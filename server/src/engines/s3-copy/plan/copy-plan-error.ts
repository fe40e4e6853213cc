/** The listed files cannot be copied as asked. The message is one line and names files. */
export class CopyPlanError extends Error {
  override readonly name = "CopyPlanError";
}
