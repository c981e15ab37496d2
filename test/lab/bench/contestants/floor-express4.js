// By hand on Express 4.
import express from 'express4';
import { onExpress } from './on-express.js';

export default onExpress(express());
