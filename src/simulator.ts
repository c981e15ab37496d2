// DOOR "./simulator": the payment service, on your own machine.
export type { Attempt, CancelReason, Delivery, DeliveryStatus, HeaderPair } from './simulator/delivery.js';
export { type FaultKind, faultKinds } from './simulator/fault-kinds.js';
export type { Fault, FaultRule } from './simulator/faults.js';
export type { DeliveryFilter, WaitFilter } from './simulator/filter.js';
export type { Simulator } from './simulator/handle.js';
export type { Webhook } from './simulator/registrations.js';
export type { RetrySchedule } from './simulator/retry-schedule.js';
export { type SeededAccount, type SeededKey, type SeededToken, seeds } from './simulator/seeds.js';
export type { SimulatorOptions } from './simulator/settings.js';
export { startSimulator } from './simulator/start-simulator.js';
export type { Overrides, TriggerOptions } from './simulator/trigger.js';
