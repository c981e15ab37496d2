// Bundles the simulator's page into one script and one stylesheet; it needs nothing else when it runs.
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildSync } from 'esbuild';

const source = fileURLToPath(new URL('../../src/simulator/dashboard/', import.meta.url));
const license = fileURLToPath(new URL('../../node_modules/preact/LICENSE', import.meta.url));

/** @param {string} folder where `index.html`, `dashboard.js` and `dashboard.css` go */
export function buildDashboard(folder) {
  const { outputFiles } = buildSync({
    entryPoints: [{ in: `${source}main.tsx`, out: 'dashboard' }],
    outdir: folder,
    write: false,
    bundle: true,
    minify: true,
    format: 'esm',
    target: ['es2022', 'chrome123', 'firefox121', 'safari17.5'],
    jsx: 'automatic',
    jsxImportSource: 'preact',
    logLevel: 'warning',
  });
  mkdirSync(folder, { recursive: true });
  put(folder, 'index.html', readFileSync(`${source}index.html`));
  // Preact is inside the script, so its licence travels with it.
  put(folder, 'preact-license.txt', readFileSync(license));
  for (const { path, contents } of outputFiles) put(folder, basename(path), contents);
}

/** In one step: a simulator that runs meanwhile never serves half a file. */
function put(folder, name, contents) {
  const unfinished = `${folder}/.${name}.${process.pid}`;
  writeFileSync(unfinished, contents);
  renameSync(unfinished, `${folder}/${name}`);
}

// Run as a program it builds the page where the simulator of a checkout looks for it.
if (process.argv[1] === fileURLToPath(import.meta.url)) {
  buildDashboard(fileURLToPath(new URL('../../dist/dashboard', import.meta.url)));
}
