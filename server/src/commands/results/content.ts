/** What is put into an account's storage, from its beginning to its end. */
export interface Content {
  readonly isEmpty: boolean;
  /** Undefined: nobody has counted it yet. */
  size(): Promise<number | undefined>;
  read(): AsyncIterable<Uint8Array>;
  /** Where it is all of a file of this node. */
  readonly path?: string;
  /** All of it is there: so much it was. Told where the size was not known. */
  counted?(size: number): Promise<void>;
}

interface MeasuredText {
  readonly size: number;
  readonly path?: string;
  read(start: number, end: number): AsyncIterable<Uint8Array>;
}

export function textContent(text: MeasuredText): Content {
  const { size, path } = text;
  return {
    isEmpty: size === 0,
    size: () => Promise.resolve(size),
    read: () => text.read(0, size),
    ...(path === undefined ? {} : { path }),
  };
}
