// The dead-letter page behind nginx, at another path than in the app: opened without a slash at the end, it finds its files.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { needing } from '../setup/platform.js';
import { freePort } from '../setup/ports.js';
import { until } from '../setup/waiting.js';
import { afterwards, temporaryFolder } from '../tools/simulator/world.js';
import { describeInChromium, openPage } from './chromium.js';
import { letterApp, refund } from './letter-app.js';

/** @returns the origin */
async function startNginx(locations: string): Promise<string> {
  const folder = temporaryFolder();
  const port = await freePort();
  mkdirSync(join(folder, 'tmp'));
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  const config = `
    daemon off; master_process off; pid nginx.pid; error_log stderr;
    events {}
    http {
      access_log off;
      ${temporary.map((kind) => `${kind}_temp_path tmp/${kind};`).join(' ')}
      server { listen 127.0.0.1:${port}; proxy_set_header Host $http_host; ${locations} }
    }`;
  writeFileSync(join(folder, 'nginx.conf'), config);
  const nginx = spawn('nginx', ['-p', folder, '-c', 'nginx.conf'], { stdio: 'ignore' });
  const ended = once(nginx, 'exit');
  afterwards(async () => {
    nginx.kill();
    await ended;
  });
  const origin = `http://127.0.0.1:${port}`;
  await until(() => fetch(origin).then(Boolean, () => false));
  return origin;
}

const WAYS: readonly (readonly [opened: string, location: string, upstream: string])[] = [
  ['/dead', '/dead', '/ops/webhooks'],
  ['/admin/dead', '/admin/dead', '/ops/webhooks'],
  ['/dead', '/dead/', '/ops/webhooks/'],
  ['/admin/ops/webhooks', '/admin/', '/'],
  ['/ops/webhooks', '/', ''],
];

needing('nginx').describe('behind nginx', () => {
  describeInChromium('the dead-letter page', () => {
    test.each(WAYS)('opens at %s with `location %s` and the path "%s" in proxy_pass', async (...way) => {
      const [opened, location, upstream] = way;
      const app = await letterApp();
      await app.keep(refund('evt_7001'));
      const { origin } = new URL(app.dashboardUrl);
      const proxy = await startNginx(`location ${location} { proxy_pass ${origin}${upstream}; }`);
      const { page } = await openPage({ dashboardUrl: `${proxy}${opened}` }, '?reason=unknown#top');
      await page.locator('.row-link').waitFor();
      expect(page.url()).toBe(`${proxy}${opened}/?reason=unknown#top`);
    });
  });
});
