import { describe, expect, test } from '@jest/globals';
import { UsageError } from '../../../src/tools/cli/command.js';
import { endpointUrl } from '../../../src/tools/cli/flag-values.js';

describe('the URL of an endpoint', () => {
  test.each([
    ['3000', 'http://localhost:3000'],
    ['3000/hooks', 'http://localhost:3000/hooks'],
    ['3000/hooks?a=b', 'http://localhost:3000/hooks?a=b'],
    ['localhost:3000/hooks', 'http://localhost:3000/hooks'],
    ['app.local:80', 'http://app.local:80'],
    ['bücher.local:80/hooks', 'http://bücher.local:80/hooks'],
    ['[::1]:3000/hooks', 'http://[::1]:3000/hooks'],
    ['10.0.0.7:3000/hooks', 'http://10.0.0.7:3000/hooks'],
    ['http://localhost/hooks', 'http://localhost/hooks'],
    ['HTTPS://shop.example/hooks', 'HTTPS://shop.example/hooks'],
  ])('%s is %s', (typed, url) => {
    expect(endpointUrl('--forward', typed)).toBe(url);
  });

  test.each([
    ...['', '/hooks', '//hooks', 'hooks', 'hooks/3000', 'localhost', 'localhost/hooks', 'shop.example/hooks'],
    ...['http:/localhost', 'http:localhost', 'http://', 'http:///hooks', 'http:\\\\localhost'],
    ...['http://localhost:99999/', 'http://localhost:0/hooks', '0/hooks', '70000/hooks', 'localhost:70000'],
    ...['3000hooks', ':3000/hooks', 'a b', '3000/a b', '3000/a\nb'],
    ...['ftp://localhost:3000/hooks', 'mailto:a@b.c', 'user@host:3000'],
  ])('%j is refused, with examples that work', (typed) => {
    const message = refusalOf(typed);
    expect(message).toContain(`--forward ${JSON.stringify(typed)} is not the URL of an endpoint`);
    const examples = message.slice(message.indexOf('like ') + 5, -1).split(' or ');
    expect(examples).toHaveLength(2);
    for (const example of examples) expect(endpointUrl('--forward', example)).toMatch(/^http:/);
  });
});

function refusalOf(typed: string): string {
  try {
    endpointUrl('--forward', typed);
  } catch (error) {
    expect(error).toBeInstanceOf(UsageError);
    return (error as Error).message;
  }
  throw new Error('It was accepted.');
}
