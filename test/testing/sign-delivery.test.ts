import { createHmac } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { fixtures, type SigningOptions, signed, signedDelivery } from 'payment-webhooks/testing';
import request from 'supertest';
import { ConfigurationError } from '../../src/errors.js';
import { EXPRESS_MAJORS, independentEndpoint } from '../setup/independent-endpoint.js';

const privateKey = 'pri_test_sign_delivery';

const hmac = (body: string | Buffer, key: string | Buffer = privateKey) =>
  createHmac('sha256', key).update(body).digest('hex');

describe('signedDelivery', () => {
  test('serializes the event once and signs exactly those bytes', () => {
    const event = fixtures.transactionPaid({ payload: { customer: { name: 'Zoë 漢字 😀' } } });
    const { body, headers, rawBody } = signedDelivery(event, { privateKey });
    expect(JSON.parse(body)).toEqual(event);
    expect(rawBody).toEqual(Buffer.from(body, 'utf8'));
    expect(headers).toEqual({ 'content-type': 'application/json', 'x-service-signature': hmac(rawBody) });
  });

  test('takes any text as the body itself', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const { body, headers, rawBody } = signedDelivery(text, { privateKey });
        expect(body).toBe(text);
        expect(headers['x-service-signature']).toBe(hmac(rawBody));
      }),
    );
  });

  test('signs what a client sends for a lone surrogate: the replacement character', () => {
    const { headers } = signedDelivery('"\ud800"', { privateKey });
    expect(headers['x-service-signature']).toBe(hmac('"\ufffd"'));
  });

  test('calls the header what the service calls it', () => {
    const { headers } = signedDelivery('{}', { privateKey, signatureHeader: 'X-Acme-Signature' });
    expect(headers).toEqual({ 'content-type': 'application/json', 'x-acme-signature': hmac('{}') });
  });

  test('takes a key of bytes', () => {
    const key = Buffer.from([0, 255, 10, 13]);
    expect(signedDelivery('{}', { privateKey: key }).headers['x-service-signature']).toBe(hmac('{}', key));
  });

  test('gives each caller headers of their own', () => {
    const event = fixtures.transactionPaid();
    signedDelivery(event, { privateKey }).headers['x-service-signature'] = '';
    expect(signedDelivery(event, { privateKey }).headers['x-service-signature']).not.toBe('');
  });

  const circle: { self?: object } = {};
  circle.self = circle;
  test.each([
    ['null', null, /event is null\. Pass an event/],
    ['nothing', undefined, /event is undefined/],
    ['a number', 7, /event is 7/],
    ['a function', () => ({}), /event is a function/],
    ['a Buffer', Buffer.from('{}'), /event is bytes/],
    ['a promise', Promise.resolve({}), /event is a promise\. Await it first/],
    ['a circle', circle, /event cannot be serialized as JSON/],
    ['a bigint inside', { amount: 1n }, /event cannot be serialized as JSON/],
  ])('refuses an event that is %s', (_, event, message) => {
    expect(() => signedDelivery(event as object, { privateKey })).toThrow(ConfigurationError);
    expect(() => signedDelivery(event as object, { privateKey })).toThrow(message);
  });

  test.each([
    ['no options', undefined, /The options are missing\. Pass at least \{ privateKey \}/],
    ['no key', {}, /privateKey is of type undefined/],
    ['an empty key', { privateKey: '' }, /privateKey is empty/],
    ['a slip', { privateKey, signatureheader: 'X' }, /"signatureheader"\. Did you mean "signatureHeader"\?/],
    ['a name with a space', { privateKey, signatureHeader: 'X Y' }, /signatureHeader is "X Y".* the name/],
    ['an empty header name', { privateKey, signatureHeader: '' }, /signatureHeader is ""/],
    ['a header name that is no text', { privateKey, signatureHeader: 7 }, /signatureHeader is 7/],
  ])('refuses %s', (_, options, message) => {
    expect(() => signedDelivery({}, options as SigningOptions)).toThrow(ConfigurationError);
    expect(() => signedDelivery({}, options as SigningOptions)).toThrow(message);
  });
});

describe.each(EXPRESS_MAJORS)('signed, with supertest on %s', (_, framework) => {
  test('sends an event so that an independent endpoint accepts it', async () => {
    const { app, accepted } = independentEndpoint(privateKey, { framework });
    const event = fixtures.transactionPaid({ payload: { customer: { name: 'Zoë "漢字" 😀 \u2028' } } });
    await request(app).post('/hooks').use(signed(event, { privateKey })).expect(200);
    expect(accepted.map((body) => JSON.parse(body.toString()))).toEqual([event]);
  });

  test('sends text byte for byte', async () => {
    const { app, accepted } = independentEndpoint(privateKey, { framework });
    const text = `${JSON.stringify(fixtures.transactionPaid(), null, 3)}\r\n`;
    // The endpoint does not take a byte-order mark for JSON, but its signature was right.
    const marked = `\ufeff${text}`;
    await request(app).post('/hooks').use(signed(marked, { privateKey })).expect(400);
    await request(app).post('/hooks').use(signed(text, { privateKey })).expect(200);
    expect(accepted).toEqual([Buffer.from(text)]);
  });

  test('sends an empty body with its signature', async () => {
    const { app } = independentEndpoint(privateKey, { framework });
    await request(app).post('/hooks').use(signed('', { privateKey })).expect(400);
  });

  test('uses the header and the key that it was given', async () => {
    const { app } = independentEndpoint(privateKey, { framework, header: 'x-acme-signature' });
    const signatureHeader = 'X-Acme-Signature';
    const event = fixtures.transactionPaid();
    await request(app).post('/hooks').use(signed(event, { privateKey, signatureHeader })).expect(200);
    await request(app).post('/hooks').use(signed(event, { privateKey })).expect(401);
    const other = signed(event, { privateKey: 'pri_other', signatureHeader });
    await request(app).post('/hooks').use(other).expect(401);
  });
});
