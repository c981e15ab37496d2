// payment-webhooks observed by OpenTelemetry, with no SDK registered.
import express from 'express';
import { openTelemetry } from '../../../dist/esm/opentelemetry.js';
import { hooks } from './hooks.js';

export default express().post('/hooks', hooks({ observer: openTelemetry() }));
