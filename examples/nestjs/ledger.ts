// Stands in for your database.
import { Injectable } from '@nestjs/common';

@Injectable()
export class Ledger {
  readonly #paid = new Set<string>();

  async markPaid(orderId: string): Promise<void> {
    this.#paid.add(orderId);
  }
}
