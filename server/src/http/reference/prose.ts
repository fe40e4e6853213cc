import { Html, escapeHtml, html } from "../html.ts";

/** Renders the Markdown that descriptions use: paragraphs, bold, code, and fenced blocks of code. */
export function prose(text: string): Html {
  const blocks = text
    .split(/^```\w*\n([^]*?)^```$/m)
    .map((block, index) => (index % 2 === 1 ? codeBlock(block) : paragraphs(block)));
  return html`${blocks}`;
}

function codeBlock(text: string): Html {
  return html`${text
    .trimEnd()
    .split("\n")
    .map((line) => html`<pre class="curl">${line}</pre>`)}`;
}

function paragraphs(text: string): Html {
  const marked = escapeHtml(text.trim())
    .split("\n\n")
    .map((paragraph) => paragraph.replaceAll(/\*\*(.+?)\*\*/g, "<b>$1</b>").replaceAll(/`(.+?)`/g, "<code>$1</code>"));
  return new Html(marked.map((paragraph) => `<p>${paragraph}</p>`).join("\n"));
}
