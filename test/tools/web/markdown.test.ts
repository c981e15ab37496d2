// A document as a page: what Markdown of docs/ becomes, and that no text of it is markup.
import { expect, test } from '@jest/globals';
import { documentPage } from '../../../src/tools/web/markdown.js';

const bodyOf = (markdown: string) =>
  /<main class="document">(.*)<\/main>/s.exec(documentPage(markdown, '/a.css'))?.[1];

test.each([
  ['## A `b`', '<h2>A <code>b</code></h2>'],
  ['one\ntwo **three**', '<p>one\ntwo <strong>three</strong></p>'],
  ['- one\n  more\n- two', '<ul><li>one\n  more</li><li>two</li></ul>'],
  ['```ts\nif (a < b) {\n\n}\n```', '<pre class="code-block">if (a &lt; b) {\n\n}\n</pre>'],
  [
    '| a | b |\n| --- | --- |\n| `x\\|y` | |',
    '<table><thead><tr><th>a</th><th>b</th></tr></thead><tbody><tr><td><code>x|y</code></td><td></td></tr></tbody></table>',
  ],
  ['see [a\nletter](dead-letters.md)', '<p>see a\nletter</p>'],
  [
    'see [it](https://a.example/b?c=d&e)',
    '<p>see <a href="https://a.example/b?c=d&amp;e" rel="noreferrer">it</a></p>',
  ],
  ['[x](javascript:alert)', '<p>x</p>'],
  ['<script>"&"</script>', '<p>&lt;script&gt;&quot;&amp;&quot;&lt;/script&gt;</p>'],
])('%j', (markdown, html) => expect(bodyOf(markdown)).toBe(html));

test('is a whole page with the title of the document and its stylesheet', () => {
  const html = documentPage('# What <is> it\n\ntext', '/a.css');
  expect(html).toMatch(/^<!doctype html>\n<html lang="en">.*<title>What &lt;is&gt; it<\/title>/s);
  expect(html).toContain('<link rel="stylesheet" href="/a.css">');
});
