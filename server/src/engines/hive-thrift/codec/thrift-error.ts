/** What came is not what the protocol allows, or more than we take. */
export class ThriftError extends Error {
  override readonly name = "ThriftError";
}

/** More than we take. */
export class MessageTooLong extends ThriftError {}
