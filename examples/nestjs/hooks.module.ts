// Makes the receiver, for every service that wants events.
import { type BeforeApplicationShutdown, type DynamicModule, Global, Inject, Module } from '@nestjs/common';
import { type Receiver, type ReceiverOptions, receiver } from 'payment-webhooks';

export const HOOKS = Symbol('HOOKS');

@Global()
@Module({})
export class HooksModule implements BeforeApplicationShutdown {
  constructor(@Inject(HOOKS) private readonly hooks: Receiver) {}

  static forRoot(options: ReceiverOptions = {}): DynamicModule {
    const provider = { provide: HOOKS, useFactory: () => receiver(options) };
    return { module: HooksModule, providers: [provider], exports: [provider] };
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.hooks.close();
  }
}
