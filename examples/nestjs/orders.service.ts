// A service with handlers: it gets the receiver, and what its work needs, by injection.
import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import type { Receiver } from 'payment-webhooks';
import { HOOKS } from './hooks.module.js';
import { Ledger } from './ledger.js';

@Injectable()
export class OrdersService implements OnModuleInit {
  constructor(
    @Inject(HOOKS) private readonly hooks: Receiver,
    private readonly ledger: Ledger,
  ) {}

  onModuleInit(): void {
    this.hooks.on('transaction.paid', async (event) => {
      await this.ledger.markPaid(event.payload.transaction.order_id);
    });
  }
}
