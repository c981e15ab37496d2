// Shows a document of this package as a page: headings, lists, tables, code and links of the Markdown that docs/ uses.

/** A complete page. Scripts are not needed, so none run. @param style the path of its stylesheet */
export function documentPage(markdown: string, style: string): string {
  const title = /^# (.*)/m.exec(markdown)?.[1] ?? 'Documentation';
  return `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${escaped(title)}</title><link rel="stylesheet" href="${style}">
<main class="document">${blocksIn(markdown)}</main></html>
`;
}

function blocksIn(markdown: string): string {
  // Code is every second part.
  const parts = markdown.split(/^```.*\n([\s\S]*?)^```$/m);
  return parts
    .map((part, index) =>
      index % 2 === 1
        ? `<pre class="code-block">${escaped(part)}</pre>`
        : part
            .split(/\n{2,}/)
            .map(block)
            .join(''),
    )
    .join('');
}

function block(given: string): string {
  const text = given.trim();
  const [, marks, heading = ''] = /^(#{1,6}) (.*)/.exec(text) ?? [];
  if (marks) return `<h${marks.length}>${inline(heading)}</h${marks.length}>`;
  if (text.startsWith('- ')) return `<ul>${text.slice(2).split('\n- ').map(tagged('li')).join('')}</ul>`;
  if (!text.startsWith('|')) return text && `<p>${inline(text)}</p>`;
  const [head = '', , ...rows] = text.split('\n');
  const row = (line: string, tag: string) =>
    `<tr>${line
      .slice(1, -1)
      .split(/(?<!\\)\|/)
      .map(tagged(tag))
      .join('')}</tr>`;
  return `<table><thead>${row(head, 'th')}</thead><tbody>${rows.map((line) => row(line, 'td')).join('')}</tbody></table>`;
}

const tagged = (tag: string) => (text: string) => `<${tag}>${inline(text.trim())}</${tag}>`;

/** Links to other documents are texts, because the simulator serves none of them. */
function inline(text: string): string {
  return escaped(text.replaceAll('\\|', '|'))
    .replace(/`([^`]+)`/g, '<code>$1</code>')
    .replace(/\*\*([^*]+)\*\*/g, '<strong>$1</strong>')
    .replace(/\[([^\]]+)\]\((https:[^)]+)\)/g, '<a href="$2" rel="noreferrer">$1</a>')
    .replace(/\[([^\]]+)\]\([^)]+\)/g, '$1');
}

function escaped(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}
