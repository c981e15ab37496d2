// What Lambda is given for an HTTP request, in the shapes that AWS documents for each of the ways to call a function.
import type { ALBEvent, APIGatewayProxyEvent, APIGatewayProxyEventV2 } from 'aws-lambda';
import type { SentDelivery } from './delivery.js';

export type LambdaEvent = ALBEvent | APIGatewayProxyEvent | APIGatewayProxyEventV2;

export interface Source {
  readonly name: string;
  /** Each source gives bytes in base64 where it is told to, or takes them for binary. */
  readonly event: (sent: SentDelivery, isBase64Encoded: boolean) => LambdaEvent;
}

const HOST = 'k4v0l1n7ab.execute-api.eu-central-1.amazonaws.com';
const URL_HOST = 'm5zq2v7x4a.lambda-url.eu-central-1.on.aws';
const SENDER = '203.0.113.7';

const FORWARDED = {
  accept: 'application/json',
  'user-agent': 'payment-service',
  'x-amzn-trace-id': 'Root=1-69219f7a-2c1d4f0a8c3e6d9b5f2c9a7e',
  'x-forwarded-for': SENDER,
  'x-forwarded-port': '443',
  'x-forwarded-proto': 'https',
};

/** Text is what the gateway makes of the bytes: it reads them as UTF-8. */
const bodyOf = ({ body }: SentDelivery, isBase64Encoded: boolean) =>
  body.toString(isBase64Encoded ? 'base64' : 'utf8');

const headersOf = ({ body, headers }: SentDelivery, host: string): Record<string, string> => ({
  ...FORWARDED,
  'content-length': String(body.length),
  ...headers,
  host,
});

/** A REST API keeps the case of the sender; proxies in front of it like this one. */
function renamed(headers: Readonly<Record<string, string>>): Record<string, string> {
  const capitalized = (name: string) => name.replace(/(?:^|-)[a-z]/g, (start) => start.toUpperCase());
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [capitalized(name), value]));
}

function inLists(headers: Readonly<Record<string, string>>): Record<string, string[]> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value]]));
}

/** API Gateway, REST API; also an HTTP API with payload format 1.0. */
function restApi(sent: SentDelivery, isBase64Encoded: boolean): APIGatewayProxyEvent {
  const headers = renamed(headersOf(sent, HOST));
  return {
    ...{ resource: '/hooks', path: '/hooks', httpMethod: 'POST' },
    ...{ headers, multiValueHeaders: inLists(headers) },
    ...{ queryStringParameters: null, multiValueQueryStringParameters: null },
    ...{ pathParameters: null, stageVariables: null },
    requestContext: restContext(),
    body: bodyOf(sent, isBase64Encoded),
    isBase64Encoded,
  };
}

function restContext(): APIGatewayProxyEvent['requestContext'] {
  const identity = { sourceIp: SENDER, userAgent: 'payment-service' };
  return {
    ...{ accountId: '123456789012', apiId: 'k4v0l1n7ab', authorizer: null, domainName: HOST },
    ...{ httpMethod: 'POST', path: '/prod/hooks', protocol: 'HTTP/1.1', stage: 'prod' },
    ...{ requestId: '8f1c2d3e-4b5a-6978-8a9b-0c1d2e3f4a5b', requestTimeEpoch: 1_795_339_800_000 },
    ...{ resourceId: '2gxmpl', resourcePath: '/hooks' },
    identity: identity as APIGatewayProxyEvent['requestContext']['identity'],
  };
}

/** API Gateway, HTTP API with payload format 2.0; and a function URL. */
function formatTwo(host: string, routeKey: string) {
  const apiId = host.split('.')[0] as string;
  const http = { method: 'POST', path: '/hooks', protocol: 'HTTP/1.1', sourceIp: SENDER };
  return (sent: SentDelivery, isBase64Encoded: boolean): APIGatewayProxyEventV2 => ({
    ...{ version: '2.0', routeKey, rawPath: '/hooks', rawQueryString: '' },
    headers: headersOf(sent, host),
    requestContext: {
      ...{ accountId: '123456789012', apiId, domainName: host, domainPrefix: apiId },
      http: { ...http, userAgent: 'payment-service' },
      ...{ requestId: 'JKJaXmPLvHcESHA=', routeKey, stage: '$default' },
      ...{ time: '22/Nov/2026:09:30:00 +0000', timeEpoch: 1_795_339_800_000 },
    },
    body: bodyOf(sent, isBase64Encoded),
    isBase64Encoded,
  });
}

const TARGET_GROUP =
  'arn:aws:elasticloadbalancing:eu-central-1:123456789012:targetgroup/hooks/6d0ecf831eec9f09';

function loadBalancer(sent: SentDelivery, isBase64Encoded: boolean): ALBEvent {
  return {
    requestContext: { elb: { targetGroupArn: TARGET_GROUP } },
    ...{ httpMethod: 'POST', path: '/hooks', queryStringParameters: {} },
    headers: headersOf(sent, 'hooks.shop.example'),
    body: bodyOf(sent, isBase64Encoded),
    isBase64Encoded,
  };
}

/** With multi-value headers switched on it gives lists in place of `headers`. */
function loadBalancerWithLists(sent: SentDelivery, isBase64Encoded: boolean): ALBEvent {
  const { headers = {}, ...event } = loadBalancer(sent, isBase64Encoded);
  return { ...event, multiValueHeaders: inLists(headers as Record<string, string>) };
}

export const SOURCES: readonly Source[] = [
  { name: 'a REST API', event: restApi },
  { name: 'an HTTP API', event: formatTwo(HOST, 'POST /hooks') },
  { name: 'a function URL', event: formatTwo(URL_HOST, '$default') },
  { name: 'a load balancer', event: loadBalancer },
  { name: 'a load balancer with multi-value headers', event: loadBalancerWithLists },
];
