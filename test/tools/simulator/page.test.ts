// The files of the built page, or a notice if it was not built.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import express from 'express';
import { packageFolder } from '../../../src/tools/pages/package-folder.js';
import { pageRouter } from '../../../src/tools/simulator/simulator-app.js';
import { call, served, simulator, temporaryFolder } from './world.js';

const serve = (folder: string | undefined) => served(express().use(pageRouter(folder)));

describe('a built page', () => {
  function built(): string {
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'index.html'), '<!doctype html><title>page</title>');
    writeFileSync(join(folder, 'app.js'), 'export {};');
    writeFileSync(join(folder, 'app.css'), 'body {}');
    writeFileSync(join(folder, '.secret'), 'secret');
    return folder;
  }

  test('is served at / with the files beside it', async () => {
    const url = await serve(built());
    const page = await call(`${url}/?status=failed`);
    expect([page.status, page.text]).toEqual([200, '<!doctype html><title>page</title>']);
    expect((await call(`${url}/app.js`)).headers.get('content-type')).toMatch(/javascript/);
    expect((await call(`${url}/app.css`)).headers.get('content-type')).toMatch(/^text\/css/);
  });

  test('serves nothing else', async () => {
    const url = await serve(built());
    const outside = ['/%2e%2e/%2e%2e/etc/hostname', '/..%2f..%2fetc%2fhostname', '//etc/hostname'];
    for (const path of ['/.secret', '/nothing.js', '/index.html/', ...outside]) {
      expect((await call(url + path)).status).toBe(404);
    }
  });
});

test('shows a notice with the build command if the page was not built', async () => {
  const page = await call(await serve('/nowhere'));
  expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
  expect(page.text).toContain('npm run build');
});

test('the simulator serves a page at /, and 404 in JSON where there is nothing', async () => {
  const service = await simulator();
  expect((await call(service.dashboardUrl)).text).toMatch(/^<!doctype html>/i);
  const missing = await call(`${service.baseUrl}/nothing`);
  expect([missing.status, missing.json]).toEqual([404, { message: 'Not found.' }]);
});

test('the folder of the package is found from its own code', () => {
  expect(packageFolder()).toBe(join(__dirname, '../../..'));
});
