// An Express app with a receiver, attached to a simulator.
import express from 'express';
import { type ReceiverOptions, receiver } from 'payment-webhooks';
import type { Simulator } from 'payment-webhooks/simulator';
import { afterwards } from './world.js';

/** @returns the ids of the events that its handler has got */
export async function shop(service: Simulator, options: ReceiverOptions = {}): Promise<string[]> {
  const handled: string[] = [];
  const hooks = receiver({ privateKey: service.privateKey, logger: false, ...options });
  hooks.on('transaction.paid', (event) => void handled.push(event.id));
  afterwards(() => hooks.close());
  const app = express();
  app.post('/hooks', hooks);
  await service.attach(app, '/hooks');
  return handled;
}
