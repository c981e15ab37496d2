import { describe, expect, test } from '@jest/globals';
import { ConfigurationError, ConnectionError, ServiceError } from 'payment-webhooks/client';
import { CommandError, UsageError } from '../../../src/tools/cli/command.js';
import { describeFailure } from '../../../src/tools/cli/failure.js';

const cause = (code: string) => ({ cause: Object.assign(new Error('x'), { code }) });

describe('the exit code of a failure', () => {
  test.each<[number, string, unknown]>([
    [1, 'an answer that is an error', new ServiceError('SERVICE_FAILED', 'x', { status: 500 })],
    [1, 'an answer that is not JSON', new ConnectionError('RESPONSE_NOT_JSON', 'x')],
    [1, 'a connection that breaks', new ConnectionError('NETWORK_FAILED', 'x', cause('ECONNRESET'))],
    [1, 'a certificate', new ConnectionError('TLS_FAILED', 'x', cause('DEPTH_ZERO_SELF_SIGNED_CERT'))],
    [1, 'a surprise', new TypeError('x')],
    [2, 'usage', new UsageError('x')],
    [2, 'a refusal', new CommandError('x')],
    [2, 'what is wrong before anything is sent', new ConfigurationError('x')],
    [3, 'a refused connection', new ConnectionError('NETWORK_FAILED', 'x', cause('ECONNREFUSED'))],
    [3, 'no such host', new ConnectionError('NETWORK_FAILED', 'x', cause('ENOTFOUND'))],
    [4, 'a timeout', new ConnectionError('TIMED_OUT', 'x')],
  ])('is %i for %s', (code, _, error) => {
    expect(describeFailure(error, {}).exitCode).toBe(code);
  });

  test('whatever is thrown, there is a line for a person and one for a program', () => {
    for (const thrown of [undefined, null, 'text', {}, Object.create(null)]) {
      expect(describeFailure(thrown, {})).toMatchObject({ exitCode: 1, line: { error: { code: 'FAILED' } } });
    }
  });

  test('a key in it is not repeated', () => {
    const { text, line } = describeFailure(new Error('no such file pri_c4nary"'), {});
    expect(text).toBe('no such file pri_…"');
    expect(JSON.stringify(line)).not.toContain('c4nary');
  });

  test.each([
    'It is not a live private key (pri_…), or a current access token.',
    'Pass a key that begins with "pri_sim_".',
    'They begin with pri_sim_ or pri_sandbox_sim_.',
    'A live key begins with pri_, a sandbox key with pri_sandbox_ (see the dashboard).',
  ])('the prefix of keys in advice is kept: %s', (advice) => {
    expect(describeFailure(new Error(advice), {}).text).toBe(advice);
  });
});
