import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import {
  AuthenticationError,
  ConfigurationError,
  ConnectionError,
  NotFoundError,
  PermissionError,
  RateLimitError,
  ServiceClient,
  type ServiceClientOptions,
  ServiceError,
  ValidationError,
} from 'payment-webhooks/client';
import {
  failure,
  INACTIVE_KEY,
  json,
  NO_SCOPE_TOKEN,
  ownSpecServer,
  PRIVATE_KEY,
  READ_TOKEN,
  TOKEN,
  UNVERIFIED_KEY,
} from './spec-server.js';

const server = ownSpecServer();

const clientOf = (options: ServiceClientOptions = { privateKey: PRIVATE_KEY }) =>
  new ServiceClient({ baseUrl: server.baseUrl, retries: 0, ...options });

const basic = `Basic ${Buffer.from(`${PRIVATE_KEY}:`).toString('base64')}`;
const url = 'https://shop.example/hooks';

describe.each([
  ['a private key', { privateKey: PRIVATE_KEY }, basic],
  ['an access token', { accessToken: TOKEN }, `Bearer ${TOKEN}`],
  ['a function that gives a token', { accessToken: async () => TOKEN }, `Bearer ${TOKEN}`],
])('with %s', (_, credential, header) => {
  test('the account is read', async () => {
    await expect(clientOf(credential).account.me()).resolves.toEqual({ id: 'acc_1', active: true });
    const [request] = server.requests;
    expect(request).toMatchObject({ method: 'GET', path: '/api/v2/account/me', body: '' });
    expect(request?.headers).toMatchObject({ authorization: header, accept: 'application/json' });
    expect(request?.headers).not.toHaveProperty('content-type');
  });

  test('a webhook is registered, listed, changed, deleted and ensured', async () => {
    const { webhooks } = clientOf(credential);
    const created = await webhooks.create({ url, events: ['transaction.paid'] });
    expect(created).toMatchObject({ url, events: ['transaction.paid'], created_at: 'now' });
    expect(await webhooks.list()).toEqual([created]);
    const changed = await webhooks.update(created.id, { events: ['*'] });
    expect(changed).toEqual({ ...created, events: ['*'] });
    await expect(webhooks.delete(created.id)).resolves.toBeUndefined();
    expect(await webhooks.list()).toEqual([]);
    const ensured = await webhooks.ensure({ url });
    expect(ensured).toMatchObject({ action: 'created', webhook: { url, events: ['*'] } });
    expect(server.requests.every(({ headers }) => headers.authorization === header)).toBe(true);
  });
});

describe('what is sent', () => {
  test('a new webhook without events asks for all of them', async () => {
    await clientOf().webhooks.create({ url });
    expect(server.requests[0]).toMatchObject({ method: 'POST', path: '/api/v2/webhooks' });
    expect(JSON.parse(server.requests[0]?.body ?? '')).toEqual({ url, events: ['*'] });
    expect(server.requests[0]?.headers['content-type']).toBe('application/json');
  });

  test('a change sends only the fields that are given', async () => {
    server.webhooks.set('w1', { id: 'w1', url, events: ['*'] });
    await clientOf().webhooks.update('w1', { url: new URL('https://shop.example/other') });
    expect(JSON.parse(server.requests[0]?.body ?? '')).toEqual({ url: 'https://shop.example/other' });
    await clientOf().webhooks.update('w1', { url: undefined, events: ['transaction.paid'] } as never);
    expect(JSON.parse(server.requests[1]?.body ?? '')).toEqual({ events: ['transaction.paid'] });
  });

  test.each(['a/b', 'ä?x=1#y', '../account/me', '%2e%2e', 'x y'])(
    'the id %j stays one segment',
    async (id) => {
      server.webhooks.set(id, { id, url, events: ['*'] });
      await clientOf().webhooks.delete(id);
      expect(server.requests[0]?.path).toBe(`/api/v2/webhooks/${encodeURIComponent(id)}`);
      expect(server.webhooks.size).toBe(0);
    },
  );

  test.each(['', '.', '..', '\ud800', undefined, 7])('the id %j is refused before a request', async (id) => {
    const { webhooks } = clientOf();
    await expect(webhooks.delete(id as string)).rejects.toBeInstanceOf(ConfigurationError);
    await expect(webhooks.update(id as string, { url })).rejects.toBeInstanceOf(ConfigurationError);
    expect(server.requests).toHaveLength(0);
  });

  test.each([
    [{}, 'url is missing'],
    [{ url: 'shop.example/hooks' }, 'not an absolute URL'],
    [{ url: 'ftp://shop.example/hooks' }, 'not an absolute URL'],
    [{ url, events: [] }, 'events is an empty list'],
    [{ url, events: 'transaction.paid' }, 'events is not an array of names'],
    [{ url, event: ['*'] }, 'Unknown option "event". Did you mean "events"?'],
    [undefined, 'Pass an object such as'],
  ])('the webhook %j is refused before a request', async (input, message) => {
    await expect(clientOf().webhooks.create(input as never)).rejects.toThrow(message);
    await expect(clientOf().webhooks.ensure(input as never)).rejects.toBeInstanceOf(ConfigurationError);
    expect(server.requests).toHaveLength(0);
  });

  test('a change of nothing is refused before a request', async () => {
    await expect(clientOf().webhooks.update('w1', {})).rejects.toThrow('nothing to change');
    expect(server.requests).toHaveLength(0);
  });

  test('a URL that is not https: is warned of, unless it is of this machine', async () => {
    const warn = jest.spyOn(process, 'emitWarning').mockImplementation(() => {});
    await clientOf().webhooks.create({ url: 'http://localhost:3000/hooks' });
    await clientOf().webhooks.create({ url: 'http://shop.example/hooks?token=canary' });
    const warned = [...warn.mock.calls];
    warn.mockRestore();
    expect(warned).toEqual([
      [expect.stringContaining('shop.example'), expect.objectContaining({ code: 'WEBHOOK_URL_NOT_HTTPS' })],
    ]);
    expect(warned[0]?.[0]).not.toContain('canary');
    expect(server.webhooks.size).toBe(2);
  });
});

describe('refusals of the service', () => {
  const cases = [
    ['a wrong key', { privateKey: 'pri_other' }, AuthenticationError, 'UNAUTHENTICATED', 401],
    ['a wrong token', { accessToken: 'nobody' }, AuthenticationError, 'UNAUTHENTICATED', 401],
    ['an inactive account', { privateKey: INACTIVE_KEY }, PermissionError, 'FORBIDDEN', 403],
    ['an unverified identity', { privateKey: UNVERIFIED_KEY }, PermissionError, 'FORBIDDEN', 403],
    ['a token without the scope', { accessToken: NO_SCOPE_TOKEN }, PermissionError, 'FORBIDDEN', 403],
  ] as const;
  const calls: [string, (client: ServiceClient) => Promise<unknown>][] = [
    ['account.me', ({ account }) => account.me()],
    ['webhooks.list', ({ webhooks }) => webhooks.list()],
    ['webhooks.create', ({ webhooks }) => webhooks.create({ url })],
    ['webhooks.update', ({ webhooks }) => webhooks.update('w1', { events: ['*'] })],
    ['webhooks.delete', ({ webhooks }) => webhooks.delete('w1')],
    ['webhooks.ensure', ({ webhooks }) => webhooks.ensure({ url })],
  ];

  describe.each(cases)('%s', (_, credential, Class, code, status) => {
    test.each(calls)(`fails %s with ${code}`, async (_name, call) => {
      const error = await failure(call(clientOf(credential)));
      expect(error).toBeInstanceOf(Class);
      expect(error).toMatchObject({ code, status, name: Class.name });
      if (status === 401) expect(error.body).toEqual({ message: 'Unauthenticated.' });
    });
  });

  test('a token may read and yet not write', async () => {
    const { webhooks } = clientOf({ accessToken: READ_TOKEN });
    await expect(webhooks.list()).resolves.toEqual([]);
    await expect(webhooks.create({ url })).rejects.toBeInstanceOf(PermissionError);
  });

  test('an unknown id is a NotFoundError', async () => {
    await expect(clientOf().webhooks.delete('nobody')).rejects.toBeInstanceOf(NotFoundError);
    const updating = clientOf().webhooks.update('nobody', { events: ['*'] });
    await expect(updating).rejects.toMatchObject({ code: 'NOT_FOUND', status: 404 });
  });

  test('422 is a ValidationError with the issues', async () => {
    const error = await failure(clientOf().webhooks.create({ url: 'https://refused.example' }));
    expect(error).toBeInstanceOf(ValidationError);
    expect(error).toMatchObject({ code: 'VALIDATION_FAILED', status: 422 });
    expect((error as ValidationError).issues).toEqual([{ path: 'url', message: 'The url is not public.' }]);
    expect(error.message).toContain('The url was refused. url: The url is not public.');
  });

  test.each<[string, number, object, string]>([
    [
      'issues once, if the message repeats them',
      422,
      { message: 'No. Bad.', errors: { url: ['No.', 'Bad.'] } },
      ' was answered 422. url: No. url: Bad.',
    ],
    [
      'whole sentences',
      422,
      { message: 'invalid', errors: { url: 'taken' } },
      ' was answered 422: invalid. url: taken.',
    ],
    [
      'what to check after the reason',
      403,
      { message: 'The account is inactive.' },
      ' was answered 403: The account is inactive. Check in the dashboard that the account is active, its identity is verified, and the token has the scope of this endpoint.',
    ],
  ])('says %s', async (_, status, body, end) => {
    server.once((_request, response) => json(response, status, body));
    expect((await failure(clientOf().account.me())).message).toBe(`GET /api/v2/account/me${end}`);
  });

  test('429 is a RateLimitError that says how long to wait, also for POST, which is not retried', async () => {
    server.once((_, response) => json(response, 429, { message: 'Slow down.' }, { 'retry-after': '7' }));
    const { webhooks } = clientOf({ privateKey: PRIVATE_KEY, retries: 2 });
    const error = await failure(webhooks.create({ url }));
    expect(error).toBeInstanceOf(RateLimitError);
    expect(error).toMatchObject({ code: 'RATE_LIMITED', status: 429, retryAfterMs: 7_000 });
    expect(server.requests).toHaveLength(1);
  });

  test.each([
    [400, 'REQUEST_REFUSED'],
    [409, 'REQUEST_REFUSED'],
    [304, 'REQUEST_REFUSED'],
    [500, 'SERVICE_FAILED'],
    [503, 'SERVICE_FAILED'],
  ])('%i is a plain ServiceError', async (status, code) => {
    server.once((_, response) => json(response, status, status === 304 ? undefined : { message: 'No.' }));
    await expect(clientOf().account.me()).rejects.toMatchObject({ name: 'ServiceError', code, status });
  });

  test('an error page that is not JSON keeps its status, and its text', async () => {
    server.once((_, response) => response.writeHead(502).end('<h1>Bad gateway</h1>'));
    const error = await failure(clientOf().account.me());
    expect(error).toMatchObject({ code: 'SERVICE_FAILED', status: 502, body: '<h1>Bad gateway</h1>' });
  });

  test('what the service says becomes one line without control characters', async () => {
    server.once((_, response) => json(response, 400, { message: `a\u001b[31m\nb\u2028${'c'.repeat(999)}` }));
    const { message } = await failure(clientOf().account.me());
    expect(message).toMatch(/a \[31m b c{190,}…$/);
    expect(message.length).toBeLessThan(300);
  });
});

describe('ServiceError.is', () => {
  test('knows its kinds, and its base knows all of them', async () => {
    const error = await failure(clientOf({ privateKey: 'pri_other' }).account.me());
    expect(ServiceError.is(error)).toBe(true);
    expect(AuthenticationError.is(error)).toBe(true);
    expect(PermissionError.is(error)).toBe(false);
    expect(ConnectionError.is(error)).toBe(false);
    expect(ServiceError.is(new Error('other'))).toBe(false);
    expect(ServiceError.is({ name: 'ServiceError' })).toBe(false);
    expect(ServiceError.is(null)).toBe(false);
  });

  test('knows the errors of another copy of the package', async () => {
    await jest.isolateModulesAsync(async () => {
      const copy = await import('payment-webhooks/client');
      expect(copy.ServiceError).not.toBe(ServiceError);
      const error = await failure(clientOf({ privateKey: 'pri_other' }).account.me());
      expect(error).not.toBeInstanceOf(copy.ServiceError);
      expect(copy.ServiceError.is(error)).toBe(true);
      expect(copy.AuthenticationError.is(error)).toBe(true);
      expect(copy.NotFoundError.is(error)).toBe(false);
    });
  });
});

describe('the constructor', () => {
  const saved = { ...process.env };
  beforeEach(() => {
    process.env.SERVICE_API_URL = server.baseUrl;
    process.env.SERVICE_PRIVATE_KEY = PRIVATE_KEY;
  });
  afterEach(() => {
    process.env = { ...saved };
  });

  test.each([[undefined], [{}], [Object.create(null)], [{ privateKey: undefined, baseUrl: undefined }]])(
    'takes address and key from the environment when given %j',
    async (options) => {
      await expect(new ServiceClient(options).account.me()).resolves.toMatchObject({ id: 'acc_1' });
    },
  );

  test('takes an explicit access token before the key in the environment', async () => {
    await new ServiceClient({ accessToken: TOKEN }).account.me();
    expect(server.requests[0]?.headers.authorization).toBe(`Bearer ${TOKEN}`);
  });

  test('takes an explicit key before the one in the environment', async () => {
    process.env.SERVICE_PRIVATE_KEY = 'pri_other';
    await expect(new ServiceClient({ privateKey: PRIVATE_KEY }).account.me()).resolves.toBeDefined();
  });

  test('keeps a path of the address, and takes another apiPath', async () => {
    server.always((_, response) => json(response, 200, {}));
    await new ServiceClient({ baseUrl: `${server.baseUrl}/pay/` }).account.me();
    await new ServiceClient({ apiPath: '/sandbox/api/v2/', privateKey: 'pri_sandbox_x' }).account.me();
    const paths = server.requests.map(({ path }) => path);
    expect(paths).toEqual(['/pay/api/v2/account/me', '/sandbox/api/v2/account/me']);
  });

  test.each<[string, Record<string, unknown>, string]>([
    ['both', { privateKey: 'pri_a', accessToken: 'b' }, 'privateKey and accessToken are both given'],
    ['an empty key', { privateKey: '' }, 'privateKey is empty'],
    ['a key with a newline', { privateKey: 'pri_canary\n' }, 'privateKey ends with a line break'],
    ['a key with a colon at its end', { privateKey: 'pri_canary:' }, 'privateKey ends with a colon'],
    ['a key with a colon in it', { privateKey: 'pri_can:ary' }, 'privateKey has a colon'],
    ['a key of another type', { privateKey: 5 }, 'privateKey is of type number'],
    ['a sandbox key for v2', { privateKey: 'pri_sandbox_canary' }, 'is a sandbox key, which API v2 refuses'],
    ['an empty token', { accessToken: '' }, 'accessToken is empty'],
    ['a token with its scheme', { accessToken: 'Bearer canary' }, 'without "Bearer"'],
    ['a token of another type', { accessToken: null }, 'accessToken is null'],
    ['an invalid address', { baseUrl: 'pri_canary' }, 'baseUrl is not an absolute https: URL'],
    ['an address of another scheme', { baseUrl: 'ftp://x.example' }, 'baseUrl is not an absolute https:'],
    ['http to another machine', { baseUrl: 'http://api.example.com' }, 'baseUrl is http: to another machine'],
    ['http to a lookalike', { baseUrl: 'http://127.0.0.1.example.com' }, 'baseUrl is http: to another'],
    ['an address with a password', { baseUrl: 'https://u:canary@x.example' }, 'has a user name'],
    ['an address with a query', { baseUrl: 'https://x.example?canary' }, 'a query'],
    ['an address that holds the path', { baseUrl: 'https://x.example/api/v2/' }, 'ends in /api/v2'],
    ['an apiPath that leads elsewhere', { apiPath: '/../x' }, 'apiPath is not a path'],
    ['an apiPath without a slash', { apiPath: 'api/v2' }, 'apiPath is not a path'],
    ['a negative timeout', { timeout: -1 }, 'timeout is -1'],
    ['a timeout that no timer can wait', { timeout: 1e12 }, 'timeout is 1000000000000'],
    ['retries that are no number', { retries: Number.NaN }, 'retries is NaN'],
    ['half a retry', { retries: 0.5 }, 'retries is 0.5'],
    ['no answer at all', { maxResponseBytes: 0 }, 'maxResponseBytes is 0'],
    ['a fetch that is no function', { fetch: {} }, 'fetch is an object'],
    ['a codec with a typo', { codec: { webhok: () => {} } }, 'Did you mean "webhook"?'],
    ['a codec part that is no function', { codec: { webhook: 'x' } }, 'codec.webhook is "x"'],
    ['an unknown option', { baseURL: 'https://x.y' }, 'Unknown option "baseURL". Did you mean "baseUrl"?'],
  ])('refuses %s, in words without a secret', (_, options, message) => {
    const construct = () => new ServiceClient(options as ServiceClientOptions);
    expect(construct).toThrow(ConfigurationError);
    expect(construct).toThrow(message);
    expect(construct).not.toThrow('canary');
    expect(server.requests).toHaveLength(0);
  });

  test('refuses a missing key and a missing address, naming the variables', () => {
    delete process.env.SERVICE_PRIVATE_KEY;
    expect(() => new ServiceClient()).toThrow('set SERVICE_PRIVATE_KEY');
    delete process.env.SERVICE_API_URL;
    expect(() => new ServiceClient()).toThrow('set SERVICE_API_URL');
    process.env.SERVICE_PRIVATE_KEY = 'pri_sandbox_x';
    expect(() => new ServiceClient({ baseUrl: server.baseUrl })).toThrow(
      'SERVICE_PRIVATE_KEY is a sandbox key',
    );
  });

  test.each(['http://localhost:1', 'http://127.8.0.1:1', 'http://[::1]:1', 'https://api.example.com'])(
    'accepts the address %s',
    (baseUrl) => {
      expect(() => new ServiceClient({ baseUrl })).not.toThrow();
    },
  );
});
