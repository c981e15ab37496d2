// docs/openapi.json, held against the service's documentation, the schema of the receiver, the client and the simulator.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  AuthenticationError,
  NotFoundError,
  PermissionError,
  ServiceClient,
  ServiceError,
  ValidationError,
} from 'payment-webhooks/client';
import { type Simulator, startSimulator } from 'payment-webhooks/simulator';
import { fixtures } from 'payment-webhooks/testing';
import { transactionPaidPayload } from 'payment-webhooks/verify';
import type { z } from 'zod';
import { json, PRIVATE_KEY, type SpecServer, startSpecServer, TOKEN } from './client/spec-server.js';
import { node, ROOT } from './setup/shell.js';

interface Schema {
  readonly $ref?: string;
  readonly type?: string | string[];
  readonly properties?: Record<string, Schema>;
  readonly required?: string[];
  readonly allOf?: Schema[];
  readonly [more: string]: unknown;
}

const FILE = join(ROOT, 'docs/openapi.json');
const document = JSON.parse(readFileSync(FILE, 'utf8'));
const schemas: Record<string, Schema> = document.components.schemas;
const METHODS = ['get', 'post', 'put', 'delete', 'patch'];

const resolved = (schema: Schema = {}): Schema => schemas[schema.$ref?.split('/').at(-1) ?? ''] ?? schema;

interface Operation {
  readonly method: string;
  readonly path: string;
  readonly responses: Record<string, { $ref?: string }>;
  readonly requestBody?: { content: Record<string, { schema: Schema }> };
  readonly 'x-source'?: unknown;
}

const operations: Operation[] = Object.entries(document.paths).flatMap(([path, item]) =>
  Object.entries(item as Record<string, Operation>)
    .filter(([method]) => METHODS.includes(method))
    .map(([method, operation]) => ({ ...operation, method: method.toUpperCase(), path })),
);

function operationOf(method: string, path: string): Operation | undefined {
  const template = path.replace(/(?<=\/webhooks\/).+/, '{id}');
  return operations.find((each) => each.method === method && each.path === template);
}

/** Every object in the document that stands under one of these names, with the way to it. */
function under(
  names: readonly string[],
  value: unknown = document,
  way = '',
): [string, Record<string, unknown>][] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, entry]) => {
    const here = names.includes(name) ? Object.entries(entry as object) : [];
    const found = here.map(([key, child]): [string, Record<string, unknown>] => [
      `${way}/${name}/${key}`,
      child,
    ]);
    return [...found, ...under(names, entry, `${way}/${name}`)];
  });
}

describe('the document', () => {
  test('is valid OpenAPI 3.1', async () => {
    const code = `
      import { Validator } from '@seriousme/openapi-schema-validator';
      const validator = new Validator();
      const { valid, errors } = await validator.validate(${JSON.stringify(FILE)});
      console.log(JSON.stringify({ valid, errors, version: validator.version }));`;
    const { stdout } = await node(['--input-type=module', '-e', code]);
    expect(JSON.parse(stdout)).toEqual({ valid: true, version: '3.1' });
  });

  test('says of each property, parameter, response and operation whose it is', () => {
    const entries: (readonly [string, { $ref?: string; 'x-source'?: unknown }])[] = [
      ...under(['properties', 'responses', 'schemas', 'securitySchemes', 'parameters']),
      ...operations.map((operation) => [`${operation.method} ${operation.path}`, operation] as const),
      ['webhooks', document.webhooks.event.post],
    ];
    const marked = entries.filter(([, { $ref, ...rest }]) => !($ref && Object.keys(rest).length === 0));
    expect(marked.length).toBeGreaterThan(60);
    const sources = marked.map(([way, entry]) => [way, entry['x-source']]);
    expect(sources.filter(([, source]) => source !== 'documented' && source !== 'our-choice')).toEqual([]);
  });

  test('refers to nothing that is not there', () => {
    const found = JSON.stringify(document).matchAll(/"\$ref":"#\/([^"]+)"/g);
    const refs = [...found].map(([, way = '']) => way.split('/'));
    const missing = refs.filter((way) => way.reduce((value, name) => value?.[name], document) === undefined);
    expect(refs.length).toBeGreaterThan(20);
    expect(missing).toEqual([]);
  });

  test('has the five endpoints, and the delivery', () => {
    expect(operations.map(({ method, path }) => `${method} ${path}`)).toEqual([
      'GET /api/v2/account/me',
      'GET /api/v2/webhooks',
      'POST /api/v2/webhooks',
      'PUT /api/v2/webhooks/{id}',
      'DELETE /api/v2/webhooks/{id}',
    ]);
    expect(Object.keys(document.webhooks.event)).toEqual(['post']);
    expect(document.webhooks.event.post.parameters).toEqual([
      expect.objectContaining({ name: 'X-SERVICE-SIGNATURE', in: 'header', required: true }),
    ]);
  });

  test('presents nothing of a webhook, an account or their answers as documented', () => {
    const ofWebhooks = ['Webhook', 'WebhookFields', 'WebhookChanges', 'WebhookList'];
    for (const name of ['Account', 'AccountAnswer', ...ofWebhooks, 'Invalid']) {
      const { properties = {}, 'x-source': source } = schemas[name] ?? {};
      const sources = [source, ...Object.values(properties).map((property) => property['x-source'])];
      expect([name, ...new Set(sources)]).toEqual([name, 'our-choice']);
    }
  });

  test('takes both credentials everywhere', () => {
    expect(document.security).toEqual([{ privateKey: [] }, { accessToken: [] }]);
    expect(document.components.securitySchemes).toMatchObject({
      privateKey: { type: 'http', scheme: 'basic' },
      accessToken: { type: 'http', scheme: 'bearer' },
    });
    expect(operations.filter((operation) => 'security' in operation)).toEqual([]);
  });

  test('has 401 and 403 on every endpoint, 401 with the one body that is documented', () => {
    for (const { responses } of operations) {
      expect(responses).toMatchObject({
        401: { $ref: '#/components/responses/Unauthenticated' },
        403: { $ref: '#/components/responses/Forbidden' },
      });
    }
    expect(schemas.Unauthenticated).toMatchObject({
      properties: { message: { type: 'string', const: 'Unauthenticated.' } },
      required: ['message'],
    });
  });
});

/** The tables of the service's documentation. A question mark: it may be null. */
const DOCUMENTED: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  Event: { id: 'string', event_name: 'string', sandbox: 'boolean', payload: 'object' },
  TransactionPaidPayload: {
    token: 'Token',
    customer: 'Customer',
    metadata: 'Metadata',
    transaction: 'Transaction',
    payment_method: 'PaymentMethod',
  },
  Token: { id: 'string' },
  Customer: {
    id: 'string',
    city: 'string?',
    name: 'string?',
    email: 'string?',
    phone: 'string?',
    state: 'string?',
    address: 'string?',
    zip_code: 'string?',
    country_code: 'string?',
  },
  Transaction: {
    id: 'string',
    amount: 'string',
    status: 'integer',
    currency: 'string',
    order_id: 'string',
    created_at: 'string',
    base_amount: 'string?',
    base_currency: 'string?',
  },
  PaymentMethod: { id: 'integer', name: 'string', card: 'Card' },
  Card: {
    id: 'string',
    brand: 'string',
    fingerprint: 'string',
    last_digits: 'string',
    country_code: 'string',
    is_3d_secure: 'boolean',
  },
};

const kindOf = ({ $ref, type }: Schema): string => {
  if ($ref) return $ref.split('/').at(-1) ?? '';
  return Array.isArray(type) ? type.map((name) => (name === 'null' ? '?' : name)).join('') : (type ?? '');
};

describe('the event', () => {
  test.each(Object.entries(DOCUMENTED))('%s has the documented fields and no other', (name, fields) => {
    const { properties = {}, required } = schemas[name] ?? {};
    const kinds = Object.entries(properties).map(([field, schema]) => [field, kindOf(schema)]);
    expect(Object.fromEntries(kinds)).toEqual(fields);
    expect(required).toEqual(Object.keys(fields));
  });

  /** Every field of the payload with its way and kind. */
  function fieldsOf(schema: Schema, way: string[] = []): { way: string[]; kind: string }[] {
    return Object.entries(resolved(schema).properties ?? {}).flatMap(([name, property]) => {
      const [kind = ''] = [resolved(property).type ?? []].flat();
      const field = { way: [...way, name], kind };
      return [field, ...fieldsOf(property, field.way)];
    });
  }
  const fields = fieldsOf({ $ref: '#/components/schemas/TransactionPaidPayload' });
  const accepts = (way: readonly string[], value: unknown) => {
    const { payload } = fixtures.transactionPaid();
    const parent = way.slice(0, -1).reduce<object>((at, name) => Reflect.get(at, name), payload);
    const last = way.at(-1) ?? '';
    if (value === undefined) Reflect.deleteProperty(parent, last);
    else Reflect.set(parent, last, value);
    return transactionPaidPayload.safeParse(payload).success;
  };
  const WRONG: Readonly<Record<string, unknown>> = {
    string: 7,
    integer: 1.5,
    boolean: 'true',
    object: 'text',
  };

  /** What a merchant acts on. The receiver does without the rest: a payment must not be lost for a missing city. */
  const required = [
    'transaction',
    ...['id', 'amount', 'status', 'currency', 'order_id'].map((name) => `transaction.${name}`),
  ];

  test.each(fields.map((field) => [field.way.join('.'), field] as const))(
    'payload.%s has the documented type to the schema of the receiver, which requires no more than it needs',
    (name, { way, kind }) => {
      const optional = !required.includes(name);
      const [missing, empty, wrong] = [undefined, null, WRONG[kind]].map((value) => accepts(way, value));
      expect({ missing, empty, wrong }).toEqual({ missing: optional, empty: optional, wrong: false });
    },
  );

  /** Of an object, or of one that is wrapped to be optional. */
  function shapeIn(schema: z.ZodType): Record<string, z.ZodType> {
    const { shape, def } = schema as unknown as {
      shape?: Record<string, z.ZodType>;
      def: { innerType?: z.ZodType; out?: z.ZodType };
    };
    const inner = def.innerType ?? def.out;
    return shape ?? (inner ? shapeIn(inner) : {});
  }

  test('the schema of the receiver knows no field that the document does not', () => {
    const shapeOf = (schema: z.ZodType, way: string[] = []): string[] => {
      const shape = shapeIn(schema);
      return Object.entries(shape).flatMap(([name, part]) => [
        [...way, name].join('.'),
        ...shapeOf(part, [...way, name]),
      ]);
    };
    expect(shapeOf(transactionPaidPayload).sort()).toEqual(fields.map(({ way }) => way.join('.')).sort());
  });
});

describe('the client', () => {
  let server: SpecServer;
  beforeAll(async () => {
    server = await startSpecServer();
  });
  afterAll(() => server.close());

  test('uses every endpoint, no other, and sends the fields that are there', async () => {
    const url = 'https://shop.example/hooks';
    for (const credential of [{ privateKey: PRIVATE_KEY }, { accessToken: TOKEN }]) {
      const client = new ServiceClient({ baseUrl: server.baseUrl, ...credential });
      await client.account.me();
      const { id } = await client.webhooks.create({ url });
      await client.webhooks.update(id, { url, events: ['transaction.paid'] });
      await client.webhooks.ensure({ url });
      await client.webhooks.delete(id);
      await client.webhooks.ensure({ url });
    }
    const used = server.requests.map(({ method, path, body }) => {
      const operation = operationOf(method, path);
      const fields = resolved(operation?.requestBody?.content['application/json']?.schema).properties ?? {};
      expect(Object.keys(fields)).toEqual(
        expect.arrayContaining(body === '' ? [] : Object.keys(JSON.parse(body))),
      );
      expect(operation?.requestBody === undefined).toBe(body === '');
      return `${method} ${operation?.path}`;
    });
    const known = operations.map(({ method, path }) => `${method} ${path}`);
    expect([...new Set(used)].sort()).toEqual(known.sort());
  });

  test('has a class for each status that has a name', async () => {
    const client = new ServiceClient({ baseUrl: server.baseUrl, privateKey: PRIVATE_KEY, retries: 0 });
    const statuses = [...new Set(operations.flatMap(({ responses }) => Object.keys(responses)))];
    const failed = statuses.filter((status) => /^[45]/.test(status)).map(Number);
    const classes = new Map<number, unknown>([
      [401, AuthenticationError],
      [403, PermissionError],
      [404, NotFoundError],
      [422, ValidationError],
    ]);
    expect(failed.sort()).toEqual([...classes.keys()]);
    for (const status of failed) {
      server.once((_, response) => json(response, status, {}));
      const error = await client.account.me().catch((error) => error);
      expect(error).toBeInstanceOf(ServiceError);
      expect(error.constructor).toBe(classes.get(status));
    }
  });
});

describe('the simulator', () => {
  let simulator: Simulator;
  beforeAll(async () => {
    simulator = await startSimulator({ port: 0 });
  });
  afterAll(() => simulator.close());

  test('serves the document, with itself as the server', async () => {
    const served = await (await fetch(`${simulator.baseUrl}/_sim/openapi.json`)).json();
    expect(served).toEqual({ ...document, servers: expect.any(Array) });
  });

  test('answers with the fields and the statuses that are there', async () => {
    const statuses: string[] = [];
    const call = async (method: string, path: string, body?: object) => {
      const authorization = `Basic ${Buffer.from(`${simulator.privateKey}:`).toString('base64')}`;
      const headers = { authorization, ...(body && { 'content-type': 'application/json' }) };
      const sent = { method, headers, body: body ? JSON.stringify(body) : null };
      const response = await fetch(simulator.baseUrl + path, sent);
      const status = String(response.status);
      statuses.push(status);
      expect(Object.keys(operationOf(method, path)?.responses ?? {})).toContain(status);
      return status === '204' ? {} : ((await response.json()) as { data?: { id?: string } }).data;
    };
    const created = await call('POST', '/api/v2/webhooks', { url: 'http://127.0.0.1:9/hooks' });
    const path = `/api/v2/webhooks/${created?.id}`;
    await call('POST', '/api/v2/webhooks', { url: 'no' });
    await call('GET', '/api/v2/webhooks');
    await call('PUT', path, { events: ['*'] });
    await call('DELETE', path);
    await call('DELETE', path);
    await call('GET', '/api/v2/account/me');
    expect(statuses).toEqual(['201', '422', '200', '200', '204', '404', '200']);
    expect(Object.keys(created ?? {})).toEqual(Object.keys(schemas.Webhook?.properties ?? {}));
  });
});
