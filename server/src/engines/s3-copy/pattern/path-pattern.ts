import { RE2JS, RE2JSException } from "re2js";
import { shownValue } from "../../../lib/shown-value.ts";
import { CopyArgumentError } from "../options/copy-argument-error.ts";
import { findJavaSyntax } from "./java-syntax.ts";

/** A regular expression that the whole URI of a file has to match. */
export interface PathPattern {
  readonly groupCount: number;
  matches(uri: string): boolean;
  /** All captured groups joined. Null: the URI does not match, or no group captured a character. */
  groupKey(uri: string): string | null;
}

const LONGEST = 8192;
/** Bounds the work for each character of a URI. */
const LARGEST_PROGRAM = 10_000;

/** `option` names the pattern in the `CopyArgumentError` that is thrown if it is wrong. */
export function compilePathPattern(option: string, source: string): PathPattern {
  if (source.length > LONGEST) throw tooLarge(option);
  const construct = findJavaSyntax(source);
  if (construct !== null) {
    throw new CopyArgumentError(`${option} uses ${construct}, which is not supported: write it in RE2 syntax.`);
  }
  // Compiled by itself first, so that an error quotes only what the user wrote, and `a)(b` is refused although it would be
  // valid inside the group below.
  compile(option, source);
  const compiled = compile(option, String.raw`\A(?:${source})\z`);
  if (compiled.programSize() > LARGEST_PROGRAM) throw tooLarge(option);
  return new Re2Pattern(compiled);
}

/** §4.4: without a group there is nothing to group by. */
export function compileGroupPattern(option: string, source: string): PathPattern {
  const pattern = compilePathPattern(option, source);
  if (pattern.groupCount > 0) return pattern;
  throw new CopyArgumentError(
    `${option} must contain a group in parentheses, whose text names the output file: for example .*/(\\d+)/.*`,
  );
}

class Re2Pattern implements PathPattern {
  readonly groupCount: number;
  readonly #compiled: RE2JS;
  /** Whether the previous URI matched. */
  #hasMatched = false;

  /** `compiled` matches only whole texts. */
  constructor(compiled: RE2JS) {
    this.#compiled = compiled;
    this.groupCount = compiled.groupCount();
  }

  matches(uri: string): boolean {
    return this.#compiled.test(uri);
  }

  /**
   * A test is four times as fast as finding the groups. It is skipped after a match, because neighbours in a listing mostly
   * match alike. `Matcher` would find the groups twice.
   */
  groupKey(uri: string): string | null {
    if (!this.#hasMatched && !this.#compiled.test(uri)) return null;
    // The positions of the whole match and of each group; -1 if it is not part of the match.
    const positions = this.#compiled.re2().findSubmatchIndex(uri) as readonly number[] | null;
    this.#hasMatched = positions !== null;
    if (positions === null) return null;
    let key = "";
    for (let at = 2; at < positions.length; at += 2) key += uri.slice(positions[at], positions[at + 1]);
    return key === "" ? null : key;
  }
}

function compile(option: string, source: string): RE2JS {
  try {
    return RE2JS.compile(source);
  } catch (error) {
    if (!(error instanceof RE2JSException)) throw error;
    const problem = shownValue(error.message);
    throw new CopyArgumentError(`${option} must be a regular expression in RE2 syntax: ${problem}`, { cause: error });
  }
}

function tooLarge(option: string): CopyArgumentError {
  return new CopyArgumentError(`${option} is too large: use fewer or smaller repetitions.`);
}
