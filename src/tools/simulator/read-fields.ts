// Validates the fields of a request, or of a call by a program.
import { z } from 'zod';
import { HttpError } from '../web/http-error.js';

/** @throws {HttpError} with the errors of every field */
export function readFields<Shape extends z.ZodType>(shape: Shape, fields: unknown): z.infer<Shape> {
  const result = shape.safeParse(fields);
  if (result.success) return result.data;
  throw HttpError.invalid(z.flattenError(result.error).fieldErrors);
}
