// The OpenAPI document of the service's endpoints, as this simulator serves them.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageFolder } from './package-folder.js';

/** The document with this simulator as its server; undefined where the package does not hold it. */
export function openApiDocument(baseUrl: string): object | undefined {
  const root = packageFolder();
  if (root === undefined) return undefined;
  // In an installed package the build has put it into dist; in a checkout it is under docs.
  for (const folder of ['dist', 'docs']) {
    const document = readJson(join(root, folder, 'openapi.json'));
    if (document) return { ...document, servers: [{ url: baseUrl }, { url: `${baseUrl}/sandbox` }] };
  }
  return undefined;
}

function readJson(file: string): object | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return undefined;
  }
}
