// Bundles the simulator's page into one script and one stylesheet; it needs nothing else when it runs.
import { copyFileSync, mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { buildSync } from 'esbuild';

const source = fileURLToPath(new URL('../../src/simulator/dashboard/', import.meta.url));
const license = fileURLToPath(new URL('../../node_modules/preact/LICENSE', import.meta.url));

/** @param {string} folder where `index.html`, `dashboard.js` and `dashboard.css` go */
export function buildDashboard(folder) {
  mkdirSync(folder, { recursive: true });
  buildSync({
    entryPoints: [
      { in: `${source}main.tsx`, out: 'dashboard' },
      { in: `${source}styles/dashboard.css`, out: 'dashboard' },
    ],
    outdir: folder,
    bundle: true,
    minify: true,
    format: 'esm',
    target: ['es2022', 'chrome123', 'firefox121', 'safari17.5'],
    jsx: 'automatic',
    jsxImportSource: 'preact',
    logLevel: 'warning',
  });
  copyFileSync(`${source}index.html`, `${folder}/index.html`);
  // Preact is inside the script, so its licence travels with it.
  copyFileSync(license, `${folder}/preact-license.txt`);
}
