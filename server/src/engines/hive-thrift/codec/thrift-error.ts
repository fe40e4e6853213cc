/** The received bytes violate the protocol or exceed a limit. */
export class ThriftError extends Error {
  override readonly name = "ThriftError";
}

/** The message exceeds its budget. */
export class MessageTooLong extends ThriftError {}
