// Bundles each page into one script and one stylesheet; it needs nothing else when it runs.
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildSync } from 'esbuild';

const root = fileURLToPath(new URL('../../', import.meta.url));
const license = `${root}node_modules/preact/LICENSE`;

/** @param {string} folder where `index.html`, `dashboard.js` and `dashboard.css` go */
export function buildDashboard(folder) {
  bundle(`${root}src/tools/simulator/page`, 'dashboard', { folder, assets: folder });
}

/** @param {string} folder where `index.html` goes, and the folder `assets` with what it loads */
export function buildDeadLetterPage(folder) {
  bundle(`${root}src/tools/letters/page`, 'page', { folder, assets: `${folder}/assets` });
}

function bundle(source, name, { folder, assets }) {
  const { outputFiles } = buildSync({
    entryPoints: [{ in: `${source}/main.tsx`, out: name }],
    outdir: assets,
    write: false,
    bundle: true,
    minify: true,
    format: 'esm',
    target: ['es2022', 'chrome123', 'firefox121', 'safari17.5'],
    jsx: 'automatic',
    jsxImportSource: 'preact',
    logLevel: 'warning',
  });
  mkdirSync(assets, { recursive: true });
  put(folder, 'index.html', readFileSync(`${source}/index.html`));
  // Preact is inside the script, so its licence travels with it.
  put(assets, 'preact-license.txt', readFileSync(license));
  for (const { path, contents } of outputFiles) put(assets, basename(path), contents);
}

/** In one step: a server that runs meanwhile never serves half a file. */
function put(folder, name, contents) {
  const unfinished = `${folder}/.${name}.${process.pid}`;
  writeFileSync(unfinished, contents);
  renameSync(unfinished, `${folder}/${name}`);
}

/** @param {string} dist where the package looks for its pages */
export function buildPages(dist) {
  buildDashboard(`${dist}/dashboard`);
  buildDeadLetterPage(`${dist}/dead-letter-page`);
}

// Run as a program it builds the pages where a checkout looks for them.
if (process.argv[1] === fileURLToPath(import.meta.url)) buildPages(`${root}dist`);
