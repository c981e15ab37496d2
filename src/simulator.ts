// DOOR "./simulator": the payment service, on your own machine.
export type { DeliveryFilter, WaitFilter } from './tools/simulator/api/delivery-filter.js';
export type { Webhook } from './tools/simulator/api/registrations.js';
export type { Attempt, Delivery } from './tools/simulator/delivery/delivery-record.js';
export type { DeliveryStatus } from './tools/simulator/delivery/delivery-status.js';
export { type Fault, type FaultKind, type FaultRule, faultKinds } from './tools/simulator/delivery/faults.js';
export type { RetrySchedule } from './tools/simulator/delivery/retry-schedule.js';
export type { CancelReason, HeaderPair } from './tools/simulator/delivery/simulated-delivery.js';
export {
  type Scope,
  type SeededAccount,
  type SeededKey,
  type SeededToken,
  seeds,
} from './tools/simulator/seeds.js';
export type { SimulatorOptions } from './tools/simulator/settings.js';
export type { Simulator } from './tools/simulator/simulator.js';
export { startSimulator } from './tools/simulator/simulator.js';
export type { Overrides, TriggerOptions } from './tools/simulator/trigger.js';
