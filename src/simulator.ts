// DOOR "./simulator": the payment service, on your own machine.
export type { DeliveryFilter, WaitFilter } from './simulator/api/delivery-filter.js';
export type { Webhook } from './simulator/api/registrations.js';
export type { Attempt, Delivery } from './simulator/delivery/delivery-record.js';
export type { DeliveryStatus } from './simulator/delivery/delivery-status.js';
export { type Fault, type FaultKind, type FaultRule, faultKinds } from './simulator/delivery/faults.js';
export type { RetrySchedule } from './simulator/delivery/retry-schedule.js';
export type { CancelReason, HeaderPair } from './simulator/delivery/simulated-delivery.js';
export { type SeededAccount, type SeededKey, type SeededToken, seeds } from './simulator/seeds.js';
export type { SimulatorOptions } from './simulator/settings.js';
export type { Simulator } from './simulator/simulator.js';
export { startSimulator } from './simulator/start-simulator.js';
export type { Overrides, TriggerOptions } from './simulator/trigger.js';
