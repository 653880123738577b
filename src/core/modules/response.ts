import { z } from 'zod'
import { Json } from './json.ts'

/** The return value of `handle`. */
export const ModuleResponse = z.strictObject({
  status: z.int().min(200).max(599).default(200),
  headers: z.record(z.string().regex(/^[a-z][a-z0-9-]{0,49}$/, 'must be a header name in lower case'), z.string().max(1000)).default({}),
  body: Json.default(null),
})
export type ModuleResponse = z.infer<typeof ModuleResponse>
