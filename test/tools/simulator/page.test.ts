// The files of the page, or a notice if it was not built.
import { describe, expect, test } from '@jest/globals';
import express from 'express';
import { servePage } from '../../../src/tools/simulator/simulator-app.js';
import { pageFiles } from '../../../src/tools/web/page-files.js';
import { type Files, readFiles } from '../../../src/tools/web/read-files.js';
import { call, served, simulator } from './world.js';

const serve = (read: () => Files) => served(express().use(servePage(pageFiles(read, '/rows'))));

describe('a built page', () => {
  const built = () =>
    new Map([
      ['index.html', '<!doctype html><title>page</title>'],
      ['app.js', 'export {};'],
      ['app.css', 'body {}'],
    ]);

  test('is served at / with the files beside it', async () => {
    const url = await serve(built);
    const page = await call(`${url}/?status=failed`);
    expect([page.status, page.text]).toEqual([200, '<!doctype html><title>page</title>']);
    expect((await call(`${url}/app.js`)).headers.get('content-type')).toMatch(/javascript/);
    expect((await call(`${url}/app.css`)).headers.get('content-type')).toMatch(/^text\/css/);
  });

  test('serves nothing else', async () => {
    const url = await serve(built);
    const outside = ['/%2e%2e/%2e%2e/etc/hostname', '/..%2f..%2fetc%2fhostname', '//etc/hostname'];
    for (const path of ['/nothing.js', '/index.html/', ...outside]) {
      expect((await call(url + path)).status).toBe(404);
    }
    expect((await call(`${url}/app.js`, { method: 'POST' })).status).toBe(404);
  });
});

test('shows a notice with the build command if the page was not built', async () => {
  const page = await call(await serve(() => readFiles('dist/nowhere', ['index.html'])));
  expect(page.status).toBe(200);
  expect(page.text).toMatch(/<code>npm run build<\/code>.*<a href="\/rows">/);
  expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
});

test('the simulator serves a page at /, and 404 in JSON where there is nothing', async () => {
  const service = await simulator();
  expect((await call(service.dashboardUrl)).text).toMatch(/^<!doctype html>/i);
  const missing = await call(`${service.baseUrl}/nothing`);
  expect([missing.status, missing.json]).toEqual([404, { message: 'Not found.' }]);
});
