// The app: the receiver, and the services that have handlers.
import { Module } from '@nestjs/common';
import { HooksModule } from './hooks.module.js';
import { Ledger } from './ledger.js';
import { OrdersService } from './orders.service.js';

@Module({
  imports: [HooksModule.forRoot()],
  providers: [Ledger, OrdersService],
})
export class AppModule {}
