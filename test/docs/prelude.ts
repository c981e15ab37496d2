// The names that a block marked `fragment` may use without saying where they come from. Only compiled, never run.
import type { Express } from 'express';
import type { EventOf, Receiver } from 'payment-webhooks';
import type { Simulator } from 'payment-webhooks/simulator';
import type { Pool } from 'pg';

export { expect, test } from '@jest/globals';
export { default as express } from 'express';
export { keepRawBody, receiver } from 'payment-webhooks';
export { default as request } from 'supertest';

/** Your app. */
export declare const app: Express;
/** A receiver of yours. */
export declare const hooks: Receiver;
export declare const privateKey: string;
/** Of `pg`. */
export declare const pool: Pool;
/** Of a client of Redis. */
export declare const sendCommand: (...args: string[]) => Promise<unknown>;
/** The simulated service. */
export declare const service: Simulator;

/** Your database of orders. */
export declare const orders: {
  find(orderId: string): Promise<object | undefined>;
  markPaid(id: string, more?: object): Promise<void>;
  isPaid(id: string): Promise<boolean>;
};
/** Sends a mail. */
export declare function sendReceipt(event: EventOf<'transaction.paid'>): Promise<void>;
/** Counts and measures. */
export declare const metrics: {
  increment(name: string, labels: Readonly<Record<string, string>>): void;
  timing(name: string, ms: number): void;
};
