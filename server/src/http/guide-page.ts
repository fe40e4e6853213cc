/** Renders a guide as an HTML page without scripts. */
import { Marked, Renderer, type Tokens } from "marked";
import type { Guide } from "./guides.ts";
import { Html, html } from "./html.ts";
import { withShownPrefix } from "./reference/shown-prefix.ts";
import { STYLE_ELEMENT } from "./reference/style.ts";

/** Renders each guide once and keeps it. `isServed`: whether the server has a page at the path. */
export function guidePages(isServed: (path: string) => boolean, identifierPrefix: string): (guide: Guide) => Buffer {
  const pages = new Map<string, Buffer>();
  return (guide) => {
    const page = pages.get(guide.path) ?? Buffer.from(withShownPrefix(guidePage(guide, isServed), identifierPrefix));
    pages.set(guide.path, page);
    return page;
  };
}

function guidePage({ path, title, markdown }: Guide, isServed: (path: string) => boolean): string {
  const isReachable = (href: string): boolean => {
    const { origin, pathname } = new URL(href, `${HERE}/${path}`);
    return origin !== HERE || isServed(pathname);
  };
  const body = new Marked().parse(markdown, { async: false, renderer: new GuideRenderer(isReachable) });
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width" />
        <title>${title}</title>
        ${STYLE_ELEMENT}
      </head>
      <body>
        <main>
          <p><a href="/docs">API reference and all guides</a></p>
          ${new Html(body)}
        </main>
      </body>
    </html>`.text;
}

/** Stands for the address of this server. */
const HERE = "http://here";

class GuideRenderer extends Renderer {
  readonly #isReachable: (href: string) => boolean;
  readonly #anchors = new Map<string, number>();

  constructor(isReachable: (href: string) => boolean) {
    super();
    this.#isReachable = isReachable;
  }

  override heading(token: Tokens.Heading): string {
    return super.heading(token).replace(/^<h\d/, `$& id="${this.#anchorOf(token.text)}"`);
  }

  /** Files of the repository that are not served, such as its sources, are named without a link. */
  override link(token: Tokens.Link): string {
    return this.#isReachable(token.href) ? super.link(token) : this.parser.parseInline(token.tokens);
  }

  override table(token: Tokens.Table): string {
    return `<div class="scroll">${super.table(token)}</div>`;
  }

  /** The anchor that GitHub gives a heading, because the guides are read there, too. */
  #anchorOf(heading: string): string {
    const anchor = heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-");
    const earlier = this.#anchors.get(anchor) ?? 0;
    this.#anchors.set(anchor, earlier + 1);
    return earlier === 0 ? anchor : `${anchor}-${earlier}`;
  }
}
